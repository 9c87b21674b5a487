"""Clever gedreht in words."""

from services.words import ByLanguage, Sentences

STYLES = {"number": "bold", "action": "bold magenta"}

EVENTS: ByLanguage = {
    "de": {
        "round_started": "Runde {round}: {dealer} hat gegeben, abgelegt liegt {top}",
        "drew": "{seat} zieht [!card?eine Karte][{card}]",
        "took": "{seat} nimmt {card} von der Ablage",
        "used": "{seat} tauscht auf Platz {slot+} {replaced} gegen [!card?eine Karte][{card}], {face}",
        "rejected": "{seat} wirft {card} ab und dreht Platz {slot+} um",
        "flipped": "{seat} deckt bei {target} Platz {slot+} wieder auf: {card}",
        "swapped": "{seat} gibt {card} (Platz {slot+}) und bekommt von {target} {other_card} (Platz {other_slot+})",
        "fizzled": "{card} verpufft: es gibt kein Ziel",
        "reshuffled": "{count:abgelegte Karte|abgelegte Karten} gemischt: der neue Nachziehstapel",
        "last_lap": "{seat} hat alles umgedreht – letzte Runde um den Tisch",
        "round_ended": "Runde {round} ist aus: {scores}",
    },
    "en": {
        "round_started": "Round {round}: {dealer} has dealt, {top} starts the discards",
        "drew": "{seat} draws [!card?a card][{card}]",
        "took": "{seat} takes {card} from the discards",
        "used": "{seat} replaces {replaced} in slot {slot+} by [!card?a card][{card}], {face}",
        "rejected": "{seat} throws {card} away and turns slot {slot+} over",
        "flipped": "{seat} opens slot {slot+} of {target} again: {card}",
        "swapped": "{seat} gives {card} (slot {slot+}) and gets {other_card} from {target} (slot {other_slot+})",
        "fizzled": "{card} comes to nothing: there is no target",
        "reshuffled": "{count:discard|discards} shuffled into a new draw pile",
        "last_lap": "{seat} has turned everything over – last lap",
        "round_ended": "Round {round} is over: {scores}",
    },
}

MOVES: ByLanguage = {
    "de": {
        "draw": "vom Stapel ziehen",
        "take": "{top} von der Ablage nehmen",
        "use": "[auf Platz {slot+} statt {own_card}][!own_card?einsetzen][, {face}]",
        "reject": "abwerfen und [Platz {slot+} ({own_card})][!own_card?eine offene] umdrehen",
        "flip": "bei [{seat}][!seat?jemandem] [Platz {slot+} ]aufdecken",
        "swap": "eigene [{own_card} auf Platz {slot+}][!own_card?Karte]"
        "[ mit {seat}][: {other_card} auf Platz {other_slot+}]",
        "use.slot": "Platz {slot+} statt {own_card}[, {face}]",
        "reject.slot": "Platz {slot+} ({own_card})",
        "swap.slot": "{own_card} auf Platz {slot+}[ mit {seat}][: {other_card} auf Platz {other_slot+}]",
        "flip.seat": "{seat}[, Platz {slot+}]",
        "swap.seat": "{seat}[: {other_card} auf Platz {other_slot+}]",
        "swap.other_slot": "{other_card} auf Platz {other_slot+}",
        "flip.slot": "Platz {slot+}",
        "use.face": "{face}",
    },
    "en": {
        "draw": "draw from the pile",
        "take": "take {top} from the discards",
        "use": "[into slot {slot+} for {own_card}][!own_card?put it to use][, {face}]",
        "reject": "throw it away, turn [slot {slot+} ({own_card})][!own_card?an open one] over",
        "flip": "open [slot {slot+}][!slot?a slot][ of {seat}]",
        "swap": "your [{own_card} in slot {slot+}][!own_card?card][ with {seat}][: {other_card} in slot {other_slot+}]",
        "use.slot": "slot {slot+} for {own_card}[, {face}]",
        "reject.slot": "slot {slot+} ({own_card})",
        "swap.slot": "{own_card} in slot {slot+}[ with {seat}][: {other_card} in slot {other_slot+}]",
        "flip.seat": "{seat}[, slot {slot+}]",
        "swap.seat": "{seat}[: {other_card} in slot {other_slot+}]",
        "swap.other_slot": "{other_card} in slot {other_slot+}",
        "flip.slot": "slot {slot+}",
        "use.face": "{face}",
    },
}

PHASES: ByLanguage = {
    "de": {
        "source": "ziehen oder die Ablage nehmen",
        "use": "die genommene Karte einsetzen",
        "decide": "die gezogene Karte einsetzen oder abwerfen",
        "flip": "eine umgedrehte Karte anderer aufdecken",
        "swap": "eine offene Karte mit einer fremden tauschen",
    },
    "en": {
        "source": "draw or take the discard",
        "use": "put the taken card to use",
        "decide": "use the drawn card or throw it away",
        "flip": "open a turned card of somebody else",
        "swap": "swap an open card with somebody",
    },
}

VALUES: ByLanguage = {
    "de": {"face.open": "offen", "face.turned": "umgedreht"},
    "en": {"face.open": "open", "face.turned": "turned over"},
}

RULES: Sentences = {
    "de": """\
Ziel: viele Punkte auf umgedrehten Karten. Offene Karten zählen nichts, Aktionskarten auch nicht. Nach allen
Runden gewinnt die höchste Summe.

Zug: vom Stapel ziehen oder die oberste Ablage nehmen, wenn sie eine Zahl ist. Mit der Karte ersetzt du eine
deiner offenen Karten, offen oder gleich umgedreht; die alte kommt auf die Ablage. Eine gezogene Zahl darfst du
stattdessen abwerfen, dann drehst du eine deiner offenen Karten um.

Umdrehen gezogen: decke eine umgedrehte Karte eines anderen auf. Tauschen gezogen: tausche eine eigene offene
gegen eine fremde offene Karte. Ohne Ziel verpufft es.

Wer keine offene Karte mehr hat, beendet die Runde: alle anderen ziehen noch einmal.""",
    "en": """\
Aim: many points on cards turned over. Open cards count nothing, nor do action cards. After all rounds the
highest total wins.

A turn: draw, or take the top discard if it is a number. With it you replace one of your open cards, open or
turned over at once; the old one goes to the discards. A number you drew you may throw away instead, and then
you turn one of your open cards over.

Flip drawn: open a turned card of somebody else. Swap drawn: exchange one of your open cards for an open card of
somebody else. Without a target it comes to nothing.

Whoever has no open card left ends the round: everybody else moves once more.""",
}

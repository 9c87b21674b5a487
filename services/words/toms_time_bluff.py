"""Tom's Time Bluff in words."""

from services.words import ByLanguage, Sentences

STYLES = {
    "alarm": "bold red",
    "radio": "bold green",
    "smartwatch": "bold cyan",
    "grandfather": "bold yellow",
    "joker": "bold white on dark_magenta",
    "vortex": "bold white on blue",
    "partner": "bold black on dark_orange",
    "cuckoo": "bold white on grey30",
}

EVENTS: ByLanguage = {
    "de": {
        "round_started": "Runde {round} beginnt, {dealer} hat gegeben",
        "turned": "Stapel {place+} beginnt mit {card}[; beiseite: {aside}]",
        "skipped": "{seat} schlummert und setzt aus",
        "hid": "{seat} legt auf Stapel {place+} verdeckt [!card?eine Karte][{card}]",
        "opened": "{seat} legt auf Stapel {place+} offen {card}[ als {hour} Uhr]",
        "partnered": "{seat} legt auf Stapel {place+} {partner} mit {clock}",
        "drew": "{seat} zieht {count:Karte|Karten}[ {reason}][: {cards}]",
        "beamed": "{seat} beamt {target} [!card?eine Karte][{card}] zu",
        "answered": "{seat} hat sich entschieden",
        "challenged": "{seat} zweifelt an: verdeckt lag {card} – [right?das stimmt][!right?ein Bluff]",
        "accepted": "niemand zweifelt, auf Stapel {place+} bleibt die Karte verdeckt",
        "hands_moved": "Zeitstrudel: auf Wunsch von {by} wandern alle Hände nach {to}",
        "replaced": "den Strudel auf Stapel {place+} ersetzt {card}[; beiseite: {aside}]",
        "hour_named": "{seat} stellt den Joker auf Stapel {place+} auf {hour} Uhr",
        "took_pile": "{seat} nimmt Stapel {place+} auf, {count:Karte|Karten}[: {cards}]",
        "placed": "{seat} eröffnet Stapel {place+} mit {card}[ als {hour} Uhr]",
        "declined": "{seat} lässt den Platz leer",
        "round_ended": "die Runde ist aus[, {winner} ist fertig]; Strafpunkte: {scores}",
    },
    "en": {
        "round_started": "Round {round} begins, {dealer} has dealt",
        "turned": "pile {place+} starts with {card}[; set aside: {aside}]",
        "skipped": "{seat} snoozes through a turn",
        "hid": "{seat} hides [!card?a card][{card}] on pile {place+}",
        "opened": "{seat} lays {card} open on pile {place+}[ as {hour} o'clock]",
        "partnered": "{seat} lays {partner} with {clock} on pile {place+}",
        "drew": "{seat} draws {count:card|cards}[ {reason}][: {cards}]",
        "beamed": "{seat} beams [!card?a card][{card}] to {target}",
        "answered": "{seat} has decided",
        "challenged": "{seat} doubts it: the hidden card was {card} – [right?honest][!right?a bluff]",
        "accepted": "nobody doubts, the card on pile {place+} stays hidden",
        "hands_moved": "time vortex: {by} sends all hands to the {to}",
        "replaced": "{card} takes the vortex's place on pile {place+}[; set aside: {aside}]",
        "hour_named": "{seat} sets the joker on pile {place+} to {hour} o'clock",
        "took_pile": "{seat} picks up pile {place+}, {count:card|cards}[: {cards}]",
        "placed": "{seat} opens pile {place+} with {card}[ as {hour} o'clock]",
        "declined": "{seat} leaves the place empty",
        "round_ended": "the round is over[, {winner} is out of cards]; penalty points: {scores}",
    },
}

MOVES: ByLanguage = {
    "de": {
        "hide": "auf [!place?einen Stapel][Stapel {place+}][ ({due} Uhr)][ verdeckt {card}]",
        "draw_instead": "eine Karte ziehen, denn keine darf offen liegen",
        "open": "offen [{card}][!card?eine Karte][ als {hour} Uhr]",
        "partner": "[{partner}][!partner?ein Partner][ mit {clock}]",
        "beam": "[{card}][!card?eine Karte][ an {target} beamen]",
        "direction": "alle Hände[ nach {to}]",
        "name_hour": "[{hour} Uhr][!hour?eine Uhrzeit]",
        "draw": "nachziehen",
        "end_turn": "Zug beenden, ohne nachzuziehen",
        "challenge": "anzweifeln: das ist ein Bluff",
        "accept": "durchgehen lassen",
        "place": "[{card}][!card?eine Karte][ als {hour} Uhr] hinlegen",
        "decline": "den Platz leer lassen",
        "open.card": "{card}[ als {hour} Uhr]",
        "place.card": "{card}[ als {hour} Uhr]",
        "hide.card": "{card}",
        "open.hour": "{hour} Uhr",
        "place.hour": "{hour} Uhr",
        "partner.clock": "mit {clock}",
        "beam.target": "an {target}",
    },
    "en": {
        "hide": "[!place?a pile][pile {place+}][ ({due} o'clock)][: hide {card}]",
        "draw_instead": "draw a card, as none of yours may lie open",
        "open": "lay [{card}][!card?a card] open[ as {hour} o'clock]",
        "partner": "[{partner}][!partner?a partner][ with {clock}]",
        "beam": "beam [{card}][!card?a card][ to {target}]",
        "direction": "all hands[ to the {to}]",
        "name_hour": "[{hour} o'clock][!hour?an hour]",
        "draw": "draw",
        "end_turn": "end the turn without drawing",
        "challenge": "doubt it: that is a bluff",
        "accept": "let it pass",
        "place": "lay [{card}][!card?a card][ as {hour} o'clock]",
        "decline": "leave the place empty",
        "open.card": "{card}[ as {hour} o'clock]",
        "place.card": "{card}[ as {hour} o'clock]",
        "hide.card": "{card}",
        "open.hour": "{hour} o'clock",
        "place.hour": "{hour} o'clock",
        "partner.clock": "with {clock}",
        "beam.target": "to {target}",
    },
}

PHASES: ByLanguage = {
    "de": {
        "hide": "eine Karte verdeckt legen",
        "open": "eine Karte offen darauf legen",
        "beam": "eine Karte verschicken",
        "vortex": "die Richtung des Zeitstrudels bestimmen",
        "joker_hour": "die Uhrzeit des Jokers nennen",
        "draw": "nachziehen oder den Zug beenden",
        "challenge": "glauben oder anzweifeln",
        "place": "den leeren Platz besetzen oder nicht",
    },
    "en": {
        "hide": "hide a card",
        "open": "lay a card open on it",
        "beam": "send a card away",
        "vortex": "choose where the vortex turns",
        "joker_hour": "name the joker's hour",
        "draw": "draw or end the turn",
        "challenge": "believe or doubt",
        "place": "fill the empty place or not",
    },
}

VALUES: ByLanguage = {
    "de": {
        "reason.turn": "",
        "reason.kaputt": "wegen Kaputt",
        "reason.snooze": "wegen Snooze",
        "reason.forgot": "zur Strafe fürs Vergessen",
        "reason.instead": "statt zu legen",
        "to.left": "links",
        "to.right": "rechts",
        "partner_match.kind": "Art",
        "partner_match.hour": "Uhrzeit",
        "answer.challenge": "anzweifeln",
        "answer.accept": "glauben",
    },
    "en": {
        "reason.turn": "",
        "reason.kaputt": "because of Kaputt",
        "reason.snooze": "because of Snooze",
        "reason.forgot": "for having forgotten to",
        "reason.instead": "instead of laying one",
        "to.left": "left",
        "to.right": "right",
        "partner_match.kind": "kind",
        "partner_match.hour": "hour",
        "answer.challenge": "doubt",
        "answer.accept": "believe",
    },
}

RULES: Sentences = {
    "de": """\
Ziel: wenige Strafpunkte. Handkarten kosten am Rundenende: Uhren 1, Joker, Partner und Kuckuck 5, Zeitstrudel
10. Erreicht jemand die Grenze, gewinnt die kleinste Summe.

Zug: Auf einen der drei Stapel kommt erst eine Karte verdeckt – behauptet wird die Uhrzeit, die auf die oberste
folgt (auf 12 folgt 1) –, darauf eine beliebige Uhr, ein Joker oder ein Zeitstrudel offen, oder ein Partner mit
passender Uhr. Danach füllt man die Hand auf sechs auf.

Anzweifeln: Die anderen glauben oder zweifeln, geheim. Lag die verdeckte Karte falsch, nimmt der Leger den
Stapel, sonst der Zweifler; der andere darf den leeren Platz neu besetzen. Ein Joker stimmt, wenn weder unter
noch auf ihm einer liegt, ein Strudel, wenn kein Joker auf ihm liegt.

Zeitstrudel: alle Hände wandern einen Platz weiter. Kaputt: alle anderen ziehen. Snooze: der Linke setzt aus und
zieht. Beam: eine Karte verschenken. Jungle: niemand darf zweifeln.

Wer keine Karte mehr hat und nicht überführt wird, beendet die Runde; sie endet auch, wenn der Vorrat leer ist.""",
    "en": """\
Aim: few penalty points. Cards in hand cost you at the end of a round: clocks 1, joker, partners and cuckoo 5,
vortex 10. When somebody reaches the limit, the lowest total wins.

A turn: onto one of the three piles goes a hidden card – you claim it shows the hour after the top one (1
follows 12) – and on it, open, any clock, joker or vortex, or a partner with a clock that fits. Then you fill
your hand up to six.

Doubting: the others believe or doubt, in secret. Was the hidden card wrong, its layer takes the pile, otherwise
the doubter does; the other one may fill the empty place. A joker is right unless another lies under or on it, a
vortex unless a joker lies on it.

Vortex: all hands move one seat on. Kaputt: all others draw. Snooze: your left neighbour misses a turn and
draws. Beam: give a card away. Jungle: nobody may doubt.

Whoever is out of cards and not caught ends the round; so does an empty draw pile.""",
}

"""Timo's Twist in words."""

from services.words import ByLanguage, Sentences

STYLES = {
    "blue": "bold white on blue",
    "green": "bold black on green",
    "orange": "bold black on dark_orange",
    "pink": "bold black on hot_pink",
    "black": "bold white on grey19",
}

EVENTS: ByLanguage = {
    "de": {
        "round_started": "Runde {round}: {dealer} hat gegeben, offen liegt {top}",
        "played": "{seat} legt {card}[drawn?, eben erst gezogen,][ und wünscht sich {color}][timo? – „TIMO!“]",
        "drew": "{seat} zieht {count:Karte|Karten}[ {reason}][: {cards}]",
        "kept": "{seat} behält die gezogene Karte",
        "reshuffled": "{count:abgelegte Karte|abgelegte Karten} gemischt: der neue Nachziehstapel",
        "timo_called": "{seat} ruft noch rechtzeitig „TIMO!“",
        "caught": "{by} erwischt {seat} ohne „TIMO!“",
        "round_ended": "{winner} gewinnt die Runde; dazu kommen: {scores}",
    },
    "en": {
        "round_started": "Round {round}: {dealer} has dealt, {top} lies open",
        "played": "{seat} plays {card}[drawn?, only just drawn,][ and wants {color}][timo? – “TIMO!”]",
        "drew": "{seat} draws {count:card|cards}[ {reason}][: {cards}]",
        "kept": "{seat} keeps the card drawn",
        "reshuffled": "{count:discard|discards} shuffled into a new draw pile",
        "timo_called": "{seat} calls “TIMO!” just in time",
        "caught": "{by} catches {seat} without “TIMO!”",
        "round_ended": "{winner} wins the round; gained: {scores}",
    },
}

MOVES: ByLanguage = {
    "de": {
        "play": "[{card}][!card?eine Karte legen][ – Farbe {color}][timo? mit „TIMO!“]",
        "play_drawn": "{drawn} gleich legen[ – Farbe {color}][timo? mit „TIMO!“]",
        "draw": "eine Karte ziehen",
        "keep": "die gezogene Karte behalten",
        "take": "{pending:Karte|Karten} nehmen",
        "call_timo": "„TIMO!“ rufen",
        "catch": "{timo_window} erwischen: kein „TIMO!“",
        "play.color": "Farbe {color}[timo? mit „TIMO!“]",
        "play_drawn.color": "Farbe {color}[timo? mit „TIMO!“]",
    },
    "en": {
        "play": "[{card}][!card?play a card][ – colour {color}][timo? with “TIMO!”]",
        "play_drawn": "play {drawn} at once[ – colour {color}][timo? with “TIMO!”]",
        "draw": "draw a card",
        "keep": "keep the card drawn",
        "take": "take {pending:card|cards}",
        "call_timo": "call “TIMO!”",
        "catch": "catch {timo_window}: no “TIMO!”",
        "play.color": "colour {color}[timo? with “TIMO!”]",
        "play_drawn.color": "colour {color}[timo? with “TIMO!”]",
    },
}

PHASES: ByLanguage = {
    "de": {
        "play": "eine Karte legen oder ziehen",
        "drawn": "die gezogene Karte legen oder behalten",
        "pending": "Strafkarten nehmen oder weitergeben",
    },
    "en": {
        "play": "play a card or draw",
        "drawn": "play the card drawn or keep it",
        "pending": "take the penalty or pass it on",
    },
}

VALUES: ByLanguage = {
    "de": {
        "color.blue": "Blau",
        "color.green": "Grün",
        "color.orange": "Orange",
        "color.pink": "Rosa",
        "reason.turn": "",
        "reason.penalty": "zur Strafe",
        "reason.caught": "als Buße",
        "timo.call": "muss man rufen",
        "timo.auto": "gilt von selbst",
    },
    "en": {
        "color.blue": "blue",
        "color.green": "green",
        "color.orange": "orange",
        "color.pink": "pink",
        "reason.turn": "",
        "reason.penalty": "as a penalty",
        "reason.caught": "for being caught",
        "timo.call": "must be called",
        "timo.auto": "goes without saying",
    },
}

RULES: Sentences = {
    "de": """\
Ziel: als Erster alle Karten loswerden. Der Rundensieger bekommt, was die anderen noch halten: Zahlen zählen
ihren Wert, Aussetzen, Twist und +2 je 20, schwarze Karten je 50. Wer die Zielpunktzahl erreicht, gewinnt.

Legen: Farbe oder Zeichen müssen zur obersten Karte passen; schwarze Karten passen immer, und man wünscht sich
eine Farbe. Passt nichts, zieht man eine Karte und darf genau diese noch legen.

Aussetzen überspringt den Nächsten, Twist kehrt die Richtung um (zu zweit wirkt er wie Aussetzen).

+2 und +4: Der Nächste nimmt die Karten und ist fertig, oder er legt eine weitere Strafkarte darauf; auf +4
hilft nur +4.

Wer seine vorletzte Karte legt, ruft „TIMO!“ – gleich beim Legen oder bevor der Nächste zieht. Wer es vergisst,
kann bis dahin erwischt werden und zieht zwei Karten.""",
    "en": """\
Aim: be the first without cards. Whoever wins a round scores what the others still hold: numbers count their
value, skip, twist and +2 count 20, black cards 50. Reaching the target score wins the match.

Playing: match the colour or the sign of the top card; black cards always fit, and you name a colour. If nothing
fits you draw one card, and may still play that very card.

Skip passes over the next player, twist turns the direction round (with two players it works like skip).

+2 and +4: the next player takes the cards and is done, or lays another penalty card on top; only +4 helps
against +4.

Playing your last but one card you call “TIMO!” – with the card, or before the next player moves. If you forget,
you can be caught until then and draw two cards.""",
}

"""Bluffing Billionaires in words."""

from services.words import ByLanguage, Sentences

STYLES = {"wealth": "bold yellow"}

EVENTS: ByLanguage = {
    "de": {
        "game_started": "Spiel {game} beginnt, {start} fängt an",
        "played": "{seat} legt [!card?eine Karte][{card}] verdeckt vor sich: „Ich bin am reichsten!“",
        "discarded": "{seat} räumt [!card?die alte Karte][{card}] ungesehen ab",
        "voted": "{seat} hat abgestimmt",
        "votes_shown": "Daumen: {votes}",
        "revealed": "aufgedeckt: {cards}",
        "compared": "{active} gegen {challenger}: {winner} ist reicher",
        "took": "{winner} bekommt von {loser} {card} {source}",
        "game_ended": "Spiel {game} ist aus: {scores}; Münzen: {coins}",
    },
    "en": {
        "game_started": "Game {game} begins, {start} goes first",
        "played": "{seat} lays [!card?a card][{card}] face down: “I am the richest!”",
        "discarded": "{seat} clears [!card?the old card][{card}] away unseen",
        "voted": "{seat} has voted",
        "votes_shown": "thumbs: {votes}",
        "revealed": "turned up: {cards}",
        "compared": "{active} against {challenger}: {winner} is richer",
        "took": "{winner} gets {card} from {loser} {source}",
        "game_ended": "Game {game} is over: {scores}; coins: {coins}",
    },
}

MOVES: ByLanguage = {
    "de": {
        "play": "[{card}][!card?eine Karte] verdeckt legen",
        "approve": "Daumen hoch: glauben",
        "challenge": "Daumen runter: vergleichen",
    },
    "en": {
        "play": "lay [{card}][!card?a card] face down",
        "approve": "thumb up: believe",
        "challenge": "thumb down: compare",
    },
}

PHASES: ByLanguage = {
    "de": {"play": "eine Karte verdeckt legen", "vote": "abstimmen"},
    "en": {"play": "lay a card face down", "vote": "vote"},
}

VALUES: ByLanguage = {
    "de": {
        "source.hand": "aus der Hand",
        "source.table": "vom Tisch",
        "challenge.yes": "runter",
        "challenge.no": "hoch",
        "answer.approve": "Daumen hoch",
        "answer.challenge": "Daumen runter",
    },
    "en": {
        "source.hand": "out of the hand",
        "source.table": "off the table",
        "challenge.yes": "down",
        "challenge.no": "up",
        "answer.approve": "thumb up",
        "answer.challenge": "thumb down",
    },
}

RULES: Sentences = {
    "de": """\
Ziel: am Ende viele Punkte. Handkarten zählen ihren Wert, erbeutete Karten einen Punkt je Münze (1–3: eine, 4–6:
zwei, 7–9: drei, 10: vier); was auf dem Tisch oder in der Ablage liegt, zählt nichts.

Zug: Du legst eine Handkarte verdeckt vor dich und behauptest damit, der Reichste zu sein. Lag dort schon eine,
geht sie ungesehen in deine Ablage.

Alle, vor denen eine Karte liegt, stimmen geheim ab. Daumen runter heißt: vergleichen. Dann decken du und die
Zweifler auf; bei Gleichstand verlierst du. Der Sieger jedes Vergleichs bekommt eine zufällige Handkarte des
Verlierers, bei nur einem Zweifler auch dessen Tischkarte.

Schluss ist, sobald jemand seine letzte Handkarte legt oder ohne Handkarte an die Reihe kommt.""",
    "en": """\
Aim: many points in the end. Cards in hand count their value, cards you won one point per coin (1–3: one, 4–6:
two, 7–9: three, 10: four); what lies on the table or among the discards counts nothing.

A turn: you lay a card from your hand face down, claiming to be the richest. A card that lay there goes unseen
to your discards.

Everybody with a card in front of him votes in secret. Thumb down means: compare. You and the doubters turn your
cards up; a tie is lost for you. The winner of each comparison gets a random card from the loser's hand, and
with a single doubter his card on the table too.

It ends as soon as somebody lays his last card, or comes to his turn without one.""",
}

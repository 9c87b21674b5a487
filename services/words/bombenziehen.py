"""Bombenziehen in words."""

from services.words import ByLanguage, Sentences

STYLES = {
    "action": "bold cyan",
    "dud": "dim",
    "cutter": "bold green",
    "bomb": "bold white on red",
}

EVENTS: ByLanguage = {
    "de": {
        "started": "die Karten sind verteilt, {seat} beginnt",
        "played": "{seat} spielt {card}[ gegen {target}][blocked? – das Schild hält]",
        "peeked": "{seat} schaut sich an, was oben liegt[: {cards}]",
        "stole": "{seat} klaut {target} [!card?eine Karte][{card}]",
        "drew": "{seat} zieht {source}[ {card}] – ungefährlich",
        "bomb_drawn": "{seat} zieht {source} eine BOMBE[defused? und kappt den Draht][!defused?, ohne Drahtschere]",
        "bomb_returned": "{seat} steckt die Bombe zurück[, an Stelle {index+} von oben]",
        "shuffled": "{seat} hat den Stapel gemischt",
        "eliminated": "{seat} fliegt raus und lässt liegen: {cards}",
        "won": "{seat} hat als Einziger überlebt",
    },
    "en": {
        "started": "the cards are dealt, {seat} begins",
        "played": "{seat} plays {card}[ against {target}][blocked? – the shield holds]",
        "peeked": "{seat} looks at the top of the pile[: {cards}]",
        "stole": "{seat} steals [!card?a card][{card}] from {target}",
        "drew": "{seat} draws {source}[: {card}] – harmless",
        "bomb_drawn": "{seat} draws a BOMB {source}[defused? and cuts the wire][!defused? and has no wire cutter]",
        "bomb_returned": "{seat} puts the bomb back[, at place {index+} from the top]",
        "shuffled": "{seat} has shuffled the pile",
        "eliminated": "{seat} is out and leaves behind: {cards}",
        "won": "{seat} is the only survivor",
    },
}

MOVES: ByLanguage = {
    "de": {
        "play": "[{card}][!card?eine Karte][ gegen {target}]",
        "draw": "eine Karte ziehen",
        "place": "Bombe zurück[, Stelle {index+}]",
        "place_random": "Bombe irgendwohin",
        "place.index": "Stelle {index+}",
        "play.target": "gegen {target}",
    },
    "en": {
        "play": "[{card}][!card?a card][ against {target}]",
        "draw": "draw a card",
        "place": "bomb back[, place {index+}]",
        "place_random": "bomb back anywhere",
        "place.index": "place {index+}",
        "play.target": "against {target}",
    },
}

PHASES: ByLanguage = {
    "de": {"act": "Karten spielen und zum Schluss ziehen", "place_bomb": "die Bombe zurückstecken"},
    "en": {"act": "play cards and finally draw", "place_bomb": "put the bomb back"},
}

VALUES: ByLanguage = {
    "de": {"source.top": "von oben", "source.bottom": "von unten", "result.scores": "Plätze"},
    "en": {"source.top": "from the top", "source.bottom": "from the bottom", "result.scores": "places"},
}

RULES: Sentences = {
    "de": """\
Ziel: als Letzter übrig bleiben. Wer eine Bombe zieht, braucht eine Drahtschere, sonst ist er draußen.

Zug: beliebig viele Aktionskarten spielen, dann eine Karte ziehen. Wer abgewälzt bekommt, muss zweimal ziehen.

Spähen zeigt dir die drei obersten Karten. Ausweichen spart dir ein Ziehen. Von unten: von unten ziehen.
Abwälzen: der Nächste zieht zweimal statt deiner. Klauen: eine zufällige Karte eines anderen. Schild: hält das
nächste Klauen oder Abwälzen gegen dich ab. Mischen: mischt den Stapel. Nieten taugen zu nichts.

Eine entschärfte Bombe steckst du zurück, wohin du willst; nur du weißt, wo sie liegt.""",
    "en": """\
Aim: be the last one left. Whoever draws a bomb needs a wire cutter or is out.

A turn: play as many action cards as you like, then draw a card. After a shove you must draw twice.

Peek shows you the three top cards. Dodge saves you one draw. From below: draw from the bottom. Shove: the next
player draws twice in your stead. Steal: a random card of somebody. Shield: stops the next steal or shove
against you. Shuffle: shuffles the pile. Duds are good for nothing.

A defused bomb you put back wherever you like; only you know where it is.""",
}

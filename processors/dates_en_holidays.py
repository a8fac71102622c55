"""The English names of holidays: one pattern, and the rule in `dates_holidays` each name means."""

from __future__ import annotations

import re

_HOLIDAYS = (
    ("new year eve", r"new years?'?s?'? eve|nye"),
    ("islamic new year", r"(?:islamic|hijri|muslim) new year"),
    ("chinese new year", r"(?:chinese|lunar) new years?(?:'s)?(?: day| eve)?"),
    (
        "new year",
        r"new years?'?s?'? day|new year'?s(?!')\b|new year\b(?= of| day| [12][0-9]{3})"
        r"|(?<=since )new year\b|(?<=since the )new year\b",
    ),
    ("martin luther king day", r"(?:mlk|martin luther king)(?:,? jr\.?)?(?:'s)? day"),
    ("inauguration day", r"inauguration day"),
    ("groundhog day", r"groundhog day"),
    ("valentine", r"(?:st\.? |saint )?valentine'?s?'? ?(?:day)?"),
    ("presidents day", r"(?:president'?s?'?|washington'?s) (?:birth)?day"),
    ("girls day", r"girl'?s'? day"),
    ("womens day", r"(?:international )?wom[ae]n'?s'? day"),
    ("arbor day", r"(?:arbor|arbour|tree planting) day"),
    ("white day", r"white (?:lover )?day"),
    ("pi day", r"pi day"),
    ("st patrick", r"(?:st\.? |saint )(?:patrick|paddy)'?s?'? day"),
    ("april fools", r"april fool'?s?'?(?: day)?|fool'?s day"),
    ("earth day", r"earth day"),
    ("st george", r"(?:st\.? |saint )george'?s?'? day"),
    ("labor day", r"(?:us )?labou?r day"),
    ("may day", r"may day|international workers'? day"),
    ("youth day", r"youth day"),
    ("star wars day", r"star wars day|may the (?:4|four)th be with you"),
    ("cinco de mayo", r"cinco de mayo"),
    ("nurses day", r"nurses?'? day"),
    ("mothers day", r"mother'?s?'? day"),
    ("memorial day", r"memorial day"),
    ("childrens day", r"child(?:ren)?'?s?'? day"),
    ("flag day", r"flag day"),
    ("juneteenth", r"juneteenth|freedom day|jubilee day|emancipation day"),
    ("fathers day", r"father'?s?'? day"),
    ("canada day", r"canada day"),
    ("independence day", r"(?:us )?independence day"),
    ("bastille day", r"bastille day"),
    ("army day", r"army day"),
    ("teachers day", r"teacher'?s?'? day"),
    ("columbus day", r"(?:columbus|indigenous peoples?'?s?'?) day"),
    ("halloween", r"hallowe'?en(?: day| night)?|all hallow'?s'? eve"),
    ("all saints", r"all saints?'?s?'? day|all hallow'?s'? day|all hallows"),
    ("all souls", r"all souls?'?s?'? day"),
    ("guy fawkes", r"guy fawkes(?: day| night)?|bonfire night"),
    ("veterans day", r"veteran'?s?'? day|armistice day|remembrance day"),
    ("singles day", r"singles?'?s?'? day"),
    ("thanksgiving eve", r"thanksgiving eve"),
    ("thanksgiving", r"thanks ?giving(?: day)?"),
    ("black friday", r"black friday"),
    ("cyber monday", r"cyber monday"),
    ("christmas eve", r"(?:christmas|xmas|x-mas) eve"),
    ("christmas", r"(?:christmas|xmas|x-mas)(?: day)?"),
    ("boxing day", r"boxing day"),
    ("mardi gras", r"mardi gras|shrove tuesday|fat tuesday"),
    ("ash wednesday", r"ash wednesday"),
    ("palm sunday", r"palm sunday"),
    ("maundy thursday", r"maundy thursday|holy thursday"),
    ("good friday", r"good friday|holy friday"),
    ("holy saturday", r"holy saturday|easter saturday"),
    ("easter monday", r"easter monday"),
    ("easter", r"easter(?: sunday| day)?"),
    ("ascension day", r"ascension day"),
    ("pentecost", r"pentecost|whit sunday"),
    ("whit monday", r"whit monday"),
    ("trinity sunday", r"trinity sunday"),
    ("corpus christi", r"corpus christi"),
    ("eid al fitr", r"eid[- ]al[- ]fitr|eid[- ]ul[- ]fitr"),
    ("eid al adha", r"eid[- ]al[- ]adha|eid[- ]ul[- ]adha"),
)
HOLIDAYS = re.compile(
    "(?:"
    + "|".join(f"(?P<h{number}>{pattern})" for number, (_, pattern) in enumerate(_HOLIDAYS))
    + ")(?![a-z])"
)
HOLIDAY_NAMES = {f"h{number}": name for number, (name, _) in enumerate(_HOLIDAYS)}
HOLIDAY_STARTS = frozenset(
    "new nye islamic hijri muslim chinese lunar mlk martin inauguration groundhog st saint "
    "valentine valentines president presidents washington washingtons girl girls international "
    "woman women womens arbor arbour tree white pi april fool fools earth labor labour us may "
    "youth star cinco nurse nurses mother mothers memorial child children childrens flag "
    "juneteenth freedom jubilee emancipation father fathers canada independence bastille army "
    "teacher teachers columbus indigenous halloween hallowe all guy bonfire veteran veterans "
    "armistice remembrance single singles thanksgiving thanks black cyber christmas xmas x boxing "
    "mardi shrove fat ash palm maundy holy good easter ascension pentecost whit trinity corpus "
    "eid".split()
)

"""Secrets in text: what must never reach the log, found by shape and by context.

`find_secrets` is the whole surface. It prefers precision: a token whose prefix or checksum proves
what it is, or a value that a sentence itself calls a password. Sentences that only talk about
passwords ("the password rotates weekly") are left alone.

Shapes follow the issuers' public documentation. Card numbers pass the Luhn check (ISO/IEC 7812-1)
where nothing calls them so, bank accounts the MOD 97-10 check with the length of their country (ISO
13616), the numbers of Chinese residents MOD 11-2 (GB 11643, ISO 7064).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["KINDS", "find_secrets", "is_secret_name", "placeholder", "placeholders"]

Secret = tuple[int, int, str]


def find_secrets(text: str) -> list[Secret]:
    """(start, end, kind) of every secret of the text, in order, none overlapping another.

    The text should be clean already (see `capture.clean_text`): invisible characters inside a
    secret hide it. Full-width letters and digits are read as their ASCII forms. A placeholder
    made by `placeholder` is never found again.
    """
    if not text.isascii():
        text = text.translate(_NARROW)
    lowered = text.lower()
    found: list[Secret] = []
    if "://" in lowered and "@" in lowered:
        found += _url_passwords(text)
    if _LONG_TOKEN.search(text) is not None:
        found += _tokens(text)
    if "-----" in text or "putty" in lowered:
        found += [(*match.span(), "private-key") for match in _PRIVATE_KEY.finditer(text)]
    if _DIGIT_RUN.search(text) is not None:
        found += _numbers(text)
    if "passport" in lowered or "护照" in text:
        found += [(*match.span(1), "national-id") for match in _PASSPORT.finditer(text)]
    if "p" in lowered or "code" in lowered or "码" in text or "密" in text or "口令" in text:
        found += _passwords(text, lowered)
    if any(word in lowered for word in _CONTEXT_WORDS):
        found += _in_context(text)
    if not found:
        return found
    standing = placeholders(text)
    return [
        secret
        for secret in _disjoint(found)
        if not any(secret[0] < end and start < secret[1] for start, end, _ in standing)
    ]


def placeholder(kind: str) -> str:
    """What stands in the text where a secret of that kind was."""
    return f"[redacted:{kind}]"


def placeholders(text: str) -> list[Secret]:
    """(start, end, kind) of every placeholder in the text."""
    if "[redacted:" not in text:
        return []
    return [(*match.span(), match.group(1)) for match in _PLACEHOLDER.finditer(text)]


def is_secret_name(name: str) -> bool:
    """Whether a field of that name holds a secret whatever its value looks like."""
    return _SECRET_NAME.fullmatch(name) is not None


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    no_password: str
    iban_lengths: dict[str, int]


_TABLES = msgspec.convert(
    tomllib.loads(
        Path(__file__).with_name("rulebook_gate").joinpath("secrets.toml").read_text("utf-8")
    ),
    _Tables,
)

# --- tokens that their shape gives away -----------------------------------------------------------

_SHAPES: dict[str, str] = {
    "aws-access-key": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
    "github-token": r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "gitlab-token": r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[\w-]{18,}",
    "anthropic-key": r"sk-ant-[\w-]{16,}",
    "openai-key": r"(?<![A-Za-z0-9])sk-(?=[\w-]{0,80}\d)(?=[\w-]{0,80}[A-Za-z])[\w-]{20,}",
    "google-api-key": r"AIza[\w-]{30,}",
    "google-oauth": r"(?:ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})",
    "slack-token": r"(?:xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|xoxe\.[\w.-]{20,})",
    "slack-webhook": r"hooks\.slack\.com/(?:services|workflows)/[\w/+-]{20,}",
    "stripe-key": r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
    "npm-token": r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}",
    "pypi-token": r"pypi-[\w-]{40,}",
    "huggingface-token": r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{28,}",
    "twilio-key": r"(?<![A-Za-z0-9])SK[0-9a-fA-F]{32}",
    "sendgrid-key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "telegram-token": r"(?<!\d)\d{8,10}:AA[\w-]{30,}",
    "discord-token": r"(?:[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{26,}|mfa\.[\w-]{60,})",
    "discord-webhook": r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}",
    "azure-key": r"(?:Account|SharedAccess)Key=(?!\[redacted:)[\w+/]{20,}={0,2}",
    "azure-signature": r"(?<![A-Za-z0-9])sig=(?!\[redacted:)[\w%+/-]{30,}={0,2}",
    "ssh-key": r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[\w-]+) AAAA[\w+/]{40,}={0,2}",
    "age-key": r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    "provider-token": (
        r"(?:dop_v1_[0-9a-f]{40,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{30,}|lin_api_\w{30,}"
        r"|figd_[\w-]{30,}|(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,}|(?<![A-Za-z0-9])xai-\w{40,}"
        r"|hvs\.[\w-]{24,}|glsa_\w{30,}|dckr_pat_[\w-]{20,}|ATATT3[\w=-]{40,}|sbp_[0-9a-f]{36,}"
        r"|PMAK-[\w-]{40,}|sq0(?:atp|csp)-[\w-]{20,}|(?<![A-Za-z0-9])r8_\w{30,}"
        r"|(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{16,}|(?<![A-Za-z0-9])dapi[0-9a-f]{32,}"
        r"|(?<![A-Za-z0-9])ntn_\w{40,}|pscale_(?:tkn|pw)_[\w-]{30,})"
    ),
}
_TOKEN = re.compile(
    "|".join(f"(?P<{kind.replace('-', '_')}>{shape})" for kind, shape in _SHAPES.items()), re.ASCII
)
_LONG_TOKEN = re.compile(r"[\w./+%:=-]{16}", re.ASCII)


def _tokens(text: str) -> Iterator[Secret]:
    for match in _TOKEN.finditer(text):
        yield (*match.span(), str(match.lastgroup).replace("_", "-"))
    if "eyJ" in text:
        yield from _web_tokens(text)


_RUN = re.compile(r"[\w-]+", re.ASCII)
_JWT_REST = re.compile(r"\.(?:eyJ)?[\w-]{8,}(?:\.[\w-]*)?", re.ASCII)


def _web_tokens(text: str) -> Iterator[Secret]:
    """JSON Web Tokens. One pattern for the whole of them would read a run of letters without a
    stop again from each "eyJ" in it."""
    for run in _RUN.finditer(text):
        start = text.find("eyJ", run.start(), run.end())
        rest = _JWT_REST.match(text, run.end())
        if rest is not None and start >= 0 and run.end() - start >= 11:
            yield start, rest.end(), "jwt"


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?s:.){0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|[\w+/=\s\\:,-]{0,20000})"
    r"|PuTTY-User-Key-File-\d:(?s:.){0,8000}?Private-MAC: ?[0-9a-fA-F]+",
    re.ASCII,
)

# --- numbers with a checksum ----------------------------------------------------------------------

_DIGIT_RUN = re.compile(r"\d[\d -]{5}", re.ASCII)
_CARD_START = re.compile(r"(?<!\d)(?<!\d\.)[3-6]\d{3}(?=[ -]?\d{4})", re.ASCII)
_CARDS = tuple(
    re.compile(shape + r"(?!\d)", re.ASCII)
    for shape in (
        r"\d{13,19}",
        r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}\1\d{1,3}",
        r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}",
        r"\d{4}([ -])\d{6}\1\d{5}",
    )
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}", re.ASCII)
_CARD_CALLED = re.compile(
    r"(?:(?:credit|debit|bank) card(?: number| no\.?)?|card number"
    r"|(?:银行|信用|储蓄)卡(?:卡?号码?)?|卡号)"
    r"(?: is|['’]s|是|为|[:：#])*[ 　]*(\d(?:[ -]?\d){12,18})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_RESIDENT = re.compile(
    r"(?<![\dA-Za-z])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}"
    r"[\dXx](?![\dA-Za-z])",
    re.ASCII,
)
_SOCIAL_SECURITY = re.compile(
    r"(?:\bSSN|\bsocial security (?:number|no\.?))(?: is|['’]s|[:=#])* *"
    r"(\d{3}[ -]?\d{2}[ -]?\d{4})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_PASSPORT = re.compile(
    r"(?:\bpassport(?:(?: |_)?(?:number|no\.?|num|id))?|护照(?:的?号码?|编号)?)"
    r"[\"']?(?: is|['’]s|是|为|[:：#=])*[ \"'　]*"
    r"((?=(?:[A-Z]{0,3}\d){5})[A-Z\d]{7,9})(?![\w-])",
    re.ASCII | re.IGNORECASE,
)
_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_IBAN_LENGTHS = _TABLES.iban_lengths


def _numbers(text: str) -> Iterator[Secret]:
    for match in _RESIDENT.finditer(text):
        total = sum(
            int(digit) * weight
            for digit, weight in zip(match.group()[:17], _RESIDENT_WEIGHTS, strict=True)
        )
        if match.group()[17].upper() == "10X98765432"[total % 11]:
            yield (*match.span(), "national-id")
    for start in _CARD_START.finditer(text):
        for shape in _CARDS:
            card = shape.match(text, start.start())
            if card is not None and _luhn(re.sub(r"\D", "", card.group())):
                yield (*card.span(), "card-number")
                break
    for match in _CARD_CALLED.finditer(text):
        yield (*match.span(1), "card-number")
    for match in _SOCIAL_SECURITY.finditer(text):
        yield (*match.span(1), "national-id")
    for match in _IBAN.finditer(text):
        shown = match.group()
        needed = _IBAN_LENGTHS.get(shown[:2].upper(), 0)
        places = [place for place, letter in enumerate(shown) if letter.isalnum()]
        if needed and len(places) >= needed:
            end = places[needed - 1] + 1
            if (end == len(shown) or not shown[end].isalnum()) and _mod97(shown[:end]):
                yield match.start(), match.start() + end, "iban"


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _mod97(shown: str) -> bool:
    compact = "".join(letter for letter in shown.upper() if letter.isalnum())
    return int("".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])) % 97 == 1


# --- values that the text calls a secret ----------------------------------------------------------

_URL_PASSWORD = re.compile(
    r"[A-Za-z][\w+.-]{1,30}://[^\s:/@?#\"'<>]*:(?!\[redacted:)([^\s/\"'<>]+)@"
)


def _url_passwords(text: str) -> Iterator[Secret]:
    for match in _URL_PASSWORD.finditer(text):
        yield (*match.span(1), "url-password")


_ASSIGN = r"""["'`*\\]{0,3}[ \t]*(?:=>|:=|==?|:|：|＝|->)[ \t]*"""
_OPEN = r"""\\?["'`“”‘’「『*]{0,3}"""
_VALUE = r"""[^\s"'`“”‘’「」『』,，。；、<>]+"""
_PRINTED = r"[!#-&(-+\--9=?-_a-~]"  # ASCII without , ; : quotes and angle brackets
_NO = r"(?!\[redacted:)"
_LABELLED = re.compile(
    r"(?i)(?:(?:pass(?:word|wd|code|phrase)|passwort|pwd)s?(?:[_-]\w{1,20})?"
    r"|\bpass\b|\bpw\b|密码|口令|密碼)(?:[ \t]*[(（][^()（）\n]{1,40}[)）])?"
    + _ASSIGN
    + _OPEN
    + rf"(?P<value>{_NO}{_VALUE})"
)
_SPOKEN = re.compile(
    r"(?i)\b(?:passwords?|passwd|passcode|passphrase|pwd|pw|pin(?: code)?)\b"
    r"(?:[ \t]+(?:to|for|of|on|at|in)\b[^\n.,;:!?]{1,60}?)?"
    r"(?:[ \t]+(?:is|was|are|will be|becomes?|to|has changed to|(?:was |has been |got )?"
    r"(?:changed|set|reset|updated)(?: to)?)|'s|’s)"
    r"(?:[ \t]+(?:now|still|currently|simply|just|actually))?[ \t]*:?[ \t]+"
    + _OPEN
    + rf"(?P<value>{_NO}{_VALUE})"
)
_NEXT_TO_IT = re.compile(
    r"(?i)(?:\b(?:password|passwd|passcode|pwd)[ \t]+" + _OPEN + r"|(?:密码|口令|密碼)[ \t]?)"
    rf"(?P<value>{_NO}(?={_PRINTED}{{0,40}}\d)(?={_PRINTED}{{0,40}}[A-Za-z]){_PRINTED}{{6,}})",
)
_AS_PASSWORD = re.compile(
    r"(?i)\b(?:use|used|using|enter|type|chose|set)[ \t]+"
    + _OPEN
    + rf"(?P<value>{_NO}{_VALUE})[\"'`”’」]?[ \t]+(?:as|for)[ \t]+(?:the|my|our|your|a)[ \t]+"
    r"(?:\w+[ \t]+){0,3}pass(?:word|code|phrase)"
)
_FLAG = re.compile(rf"(?i)--?pass(?:word|wd|phrase)?[ =]{_OPEN}(?P<value>{_NO}{_VALUE})")
_CHINESE = re.compile(
    r"(?:密码|口令|密碼)(?:已经|现在|就)?(?:是|为|叫|(?:改|设|换)(?:成"
    r"|为)了?)[ \t]*(?:[:：][ \t]*)?" + _OPEN + rf"(?P<value>{_NO}{_PRINTED}{{3,}})"
)
_PHRASE = re.compile(r"(?i)\bpassphrase\b" + _ASSIGN + rf"(?P<value>{_NO}[^\n]+)")
_CODE = re.compile(
    r"(?i)\b(?:(?:backup|recovery|verification|security|one-time|2fa|mfa)[ \t]+)+codes?\b"
    r"(?:[ \t]+(?:is|are|was)\b[ \t]*:?|[ \t]*[:=])[ \t]*"
    + _OPEN
    + r"(?P<value>(?=[\w-]{0,30}\d)[\w-]{4,}(?:(?:,| and)? (?=[\w-]{0,30}\d)[\w-]{4,})*)"
    r"|(?:验证码|校验码|备用码|恢复码)(?:是|为|：|:)?[ \t]*(?P<chinese>[A-Za-z0-9-]{4,})",
    re.ASCII,
)
_CURL = re.compile(
    rf"\bcurl\b[^\n|;]{{0,200}}? (?:-u|--user)[ =]{_OPEN}[^\s:'\"]+:(?P<value>{_NO}{_VALUE})"
)
_MNEMONIC = re.compile(
    r"(?i)\b(?:seed|recovery|mnemonic|backup)[ \t]+(?:phrase|words)\b[^\n:]{0,20}?(?::|is|are)"
    r"[ \t]*"
    r"(?P<value>(?:[a-z]{3,8}[ \t,]+){11,23}[a-z]{3,8})"
)
_NOT_A_VALUE = frozenset(_TABLES.no_password.split())
_ALGORITHM = re.compile(
    r"(?i)(?:sha-?\d+|argon2\w*|pbkdf2|md5|oauth2?|scrypt|bcrypt|1password|utf-?8|base64|wpa\d)\W*"
)
_REFERENCE = re.compile(
    r"[*•xX.…_-]+|[$%]?\{.*|\$[A-Za-z_(].*|<.*|\[.*|(?:process\.env|os\.environ|os\.getenv|env)\b.*"
    r"|[A-Za-z_][\w.]*\(.*|(?:str|int|bytes|bool|String|SecretStr|None|Optional)\b.*",
    re.ASCII,
)


def _passwords(text: str, lowered: str) -> Iterator[Secret]:
    chinese = "密" in text or "口令" in text
    if "pass" in lowered or "pwd" in lowered or "pw" in lowered or "pin" in lowered or chinese:
        for match in _LABELLED.finditer(text):
            yield from _value(match, "password", spoken=False)
        for match in _SPOKEN.finditer(text):
            yield from _value(match, "password", spoken=True)
    if "pass" in lowered:
        for pattern in (_FLAG, _AS_PASSWORD):
            for match in pattern.finditer(text):
                yield from _value(match, "password", spoken=pattern is _AS_PASSWORD)
        for match in _PHRASE.finditer(text):
            yield (*match.span("value"), "password")
    if chinese:
        for match in _CHINESE.finditer(text):
            yield from _value(match, "password", spoken=False)
    if "pass" in lowered or "pwd" in lowered or chinese:
        for match in _NEXT_TO_IT.finditer(text):
            if not _ALGORITHM.fullmatch(match.group("value")):
                yield from _value(match, "password", spoken=True)
    if "code" in lowered or "码" in text:
        for match in _CODE.finditer(text):
            yield (*match.span("value" if match["value"] else "chinese"), "password")
    if "curl" in lowered:
        for match in _CURL.finditer(text):
            yield (*match.span("value"), "password")
    if "phrase" in lowered or "words" in lowered:
        for match in _MNEMONIC.finditer(text):
            yield (*match.span("value"), "recovery-phrase")


def _value(match: re.Match[str], kind: str, *, spoken: bool) -> Iterator[Secret]:
    start, end = match.span("value")
    value = match.group("value")
    if spoken or value[-1:] in ").;]}":
        # The end of a sentence is not part of the secret; "!" may be.
        value = value.rstrip(".;:?)]}，。！？" if spoken else ".;)]}\\")
        end = start + len(value)
    if not value or value.lower().strip("!?.,:;()") in _NOT_A_VALUE or _REFERENCE.fullmatch(value):
        return
    if spoken and value.isalpha() and value[1:].islower():
        # A plain word is the password only where the sentence ends after it.
        rest = match.string[end : end + 6]
        quoted = match.string[start - 1 : start] in "\"'`“‘「『" and start > 0
        ended = re.match(r"\s*(?:$|[.!,;\n]|and\b|but\b)", rest) is not None
        if not quoted and (not ended or value.lower().endswith(("ed", "ing", "able", "ly"))):
            return
    if spoken and "pin" in match.group().lower()[:4] and not value.isdigit():
        return
    yield start, end, kind


_CONTEXT_WORDS = ("key", "token", "secret", "bearer", "auth", "credential", "密钥", "令牌", "秘钥")
_EXPLICIT_NAME = (
    r"(?:api|access|secret|auth|client|refresh|private|session|encryption|signing|account|bot"
    r"|deploy"
    r"|webhook|service|personal[ _-]access|aws[ _-]secret(?:[ _-]access)?)"
    r"[ _-]?(?:key|token|secret)|apikey|secret|token|credentials?"
)
_EXPLICIT = re.compile(
    rf"(?i)(?<![A-Za-z0-9])(?P<name>(?:{_EXPLICIT_NAME})(?:[_-](?:key|token|secret|value))?)"
    rf"(?P<assign>{_ASSIGN}){_OPEN}"
    r"(?P<value>(?!\[redacted:)[^\s\"'`“”‘’,，。；、<>{}()\[\]]{8,})"
)
_ENTROPIC = re.compile(
    r"(?i)(?:\b\w{0,40}(?:key|token|secret|credential)s?\b|密钥|令牌|秘钥)[ \t]*"
    r"(?:[(（][^()\n]{1,30}[)）])?"
    r"(?:[ \t]+(?:for|to|of)[ \t][^\n:=]{1,40}?)?[ \t]*"
    r"(?:is|was|are|=|:|：|->|是|为|到|to)?[ \t]*(?:now[ \t]+)?"
    + _OPEN
    + r"(?P<value>(?!\[redacted:)[\w+/=.~-]{12,})"
)
_BEARER = re.compile(
    r"(?i)(?:authorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:bearer|basic|token)|\bbearer)[ \t]+"
    r"(?P<value>(?!\[redacted:)[\w.~+/=-]{8,})",
    re.ASCII,
)
_AWS_SECRET = re.compile(
    r"(?i)aws.{0,20}?secret.{0,30}?(?P<value>(?<![\w+/])[\w+/]{40}(?![\w+/]))", re.ASCII
)


def _in_context(text: str) -> Iterator[Secret]:
    for match in _AWS_SECRET.finditer(text):
        yield (*match.span("value"), "aws-secret-key")
    for match in _BEARER.finditer(text):
        value = match.group("value")
        if match.group().lower().startswith("auth") or (len(value) >= 12 and _mixed(value)):
            yield (*match.span("value"), "bearer-token")
    for match in _EXPLICIT.finditer(text):
        value = match.group("value").rstrip(".;")
        if _REFERENCE.fullmatch(value) or value.startswith(("http://", "https://", "/", "./")):
            continue
        assigned = "=" in match.group("assign") and len(match.group("name")) > 6
        long = len(value) >= (12 if assigned else 24) and (assigned or value.isalnum())
        if _mixed(value) or long:
            yield match.start("value"), match.start("value") + len(value), "api-key"
    for match in _ENTROPIC.finditer(text):
        value = match.group("value").rstrip(".")
        random = _entropy(value) >= 3.0 or len(re.findall(r"\d+[A-Za-z]+", value)) >= 3
        if _mixed(value) and random and not _looks_like_a_name(value):
            yield match.start("value"), match.start("value") + len(value), "secret"


def _mixed(value: str) -> bool:
    return any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)


def _entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits each."""
    counts = [value.count(letter) for letter in dict.fromkeys(value)]
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _looks_like_a_name(value: str) -> bool:
    """An identifier, path, date or version: words joined by marks, with few digits."""
    if _NAMED.fullmatch(value):
        return True
    pieces = [piece for piece in re.split(r"[_./=+~-]", value) if piece]
    return len(pieces) > 1 and all(_PIECE.fullmatch(piece) for piece in pieces)


_NAMED = re.compile(
    r"\d{4}-\d\d-\d\d\S*|v?\d+(?:\.\d+)+\S*"
    r"|[\w./-]+\.(?:py|js|ts|md|json|toml|ya?ml|txt|com|org|net|pem)"
)
_PIECE = re.compile(r"\d{1,4}|[A-Za-z]?[a-z]+\d{0,3}|[A-Z]+\d{0,3}")


KINDS = (
    *_SHAPES, "jwt", "private-key",
    "card-number", "iban", "national-id", "url-password", "password", "recovery-phrase",
    "aws-secret-key", "bearer-token", "api-key", "secret",
)  # fmt: skip
_PLACEHOLDER = re.compile(rf"\[redacted:({'|'.join(KINDS)})\]")
_SECRET_NAME = re.compile(
    r"(?i)(?:[\w.-]*[_.-])?(?:pass(?:word|wd|code|phrase)|pwd|(?:api|access|secret|auth|client"
    r"|refresh"
    r"|private)[_-]?(?:key|token|secret)|apikey|secret|token|authorization|cookie|credentials?|cvv"
    r"|pin"
    r"|密码|口令|密钥)"
)
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def _disjoint(found: list[Secret]) -> list[Secret]:
    """In order, overlaps joined; the longest of the joined ones names the kind."""
    found.sort(key=lambda secret: (secret[0], -secret[1]))
    joined: list[Secret] = []
    for start, end, kind in found:
        if joined and start < joined[-1][1]:
            first, last, name = joined[-1]
            longest = name if last - first >= end - start else kind
            joined[-1] = (first, max(last, end), longest)
        else:
            joined.append((start, end, kind))
    return joined

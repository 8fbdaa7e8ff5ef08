# ruff: noqa: RUF001  # other scripts are what is tested
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.languages import LANGUAGES, code_of, detect

# One sentence of this project's own for each language.
SENTENCES = {
    "ar": "هذه جملة بسيطة مكتوبة باللغة العربية ومعناها سهل جدا.",
    "bg": "Това е просто изречение, написано на български език, и смисълът му е ясен.",
    "bn": "এটি বাংলা ভাষায় লেখা একটি সহজ বাক্য।",
    "cs": "Toto je jednoduchá věta napsaná v češtině a její význam je zřejmý.",
    "da": "Dette er en enkel sætning skrevet på dansk, og jeg ved ikke, hvad der sker bagefter.",
    "de": "Das ist ein einfacher Satz auf Deutsch, und seine Bedeutung ist klar.",
    "el": "Αυτή είναι μια απλή πρόταση στα ελληνικά.",
    "en": "This is a simple sentence in English, and its meaning is plain to see.",
    "es": "Esta es una frase sencilla escrita en español y su significado está claro.",
    "fa": "این یک جمله ساده است که به زبان فارسی نوشته شده است و معنای آن روشن است.",
    "fi": "Tämä on yksinkertainen suomenkielinen lause, ja sen merkitys on selvä.",
    "fr": "Ceci est une phrase simple écrite en français, et son sens est clair.",
    "gu": "આ ગુજરાતી ભાષામાં લખાયેલું એક સરળ વાક્ય છે.",
    "he": "זהו משפט פשוט שנכתב בעברית.",
    "hi": "यह हिंदी भाषा में लिखा गया एक सरल वाक्य है और इसका अर्थ साफ़ है।",
    "hu": "Ez egy egyszerű magyar mondat, és a jelentése világos.",
    "id": "Ini adalah kalimat sederhana yang ditulis dalam bahasa Indonesia dan artinya jelas.",
    "it": "Questa è una frase semplice scritta in italiano, e il suo significato è chiaro.",
    "ja": "これは日本語で書かれた簡単な文です。",
    "kn": "ಇದು ಕನ್ನಡದಲ್ಲಿ ಬರೆದ ಸರಳ ವಾಕ್ಯ.",
    "ko": "이것은 한국어로 쓴 간단한 문장입니다.",
    "ml": "ഇത് മലയാളത്തിൽ എഴുതിയ ലളിതമായ വാക്യമാണ്.",
    "mr": "हे मराठी भाषेत लिहिलेले एक सोपे वाक्य आहे आणि त्याचा अर्थ स्पष्ट आहे.",
    "ne": "यो नेपाली भाषामा लेखिएको एउटा सरल वाक्य हो र यसको अर्थ स्पष्ट छ।",
    "nl": "Dit is een eenvoudige zin in het Nederlands, en de betekenis ervan is duidelijk.",
    "no": "Dette er en enkel setning skrevet på norsk, og jeg er ikke sikker på hva som skjer nå.",
    "pa": "ਇਹ ਪੰਜਾਬੀ ਵਿੱਚ ਲਿਖਿਆ ਇੱਕ ਸਰਲ ਵਾਕ ਹੈ।",
    "pl": "To jest proste zdanie napisane po polsku, a jego znaczenie jest jasne.",
    "pt": "Esta é uma frase simples escrita em português, e o seu significado é claro.",
    "ro": "Aceasta este o propoziție simplă scrisă în limba română, iar sensul ei este clar.",
    "ru": "Это простое предложение, написанное на русском языке, и смысл его ясен.",
    "sv": "Det här är en enkel mening på svenska, och jag vet inte vad som händer sedan.",
    "sw": "Hii ni sentensi rahisi iliyoandikwa kwa lugha ya Kiswahili na maana yake ni wazi.",
    "ta": "இது தமிழில் எழுதப்பட்ட ஒரு எளிய வாக்கியம்.",
    "te": "ఇది తెలుగులో రాసిన ఒక సరళమైన వాక్యం.",
    "th": "นี่เป็นประโยคง่าย ๆ ที่เขียนเป็นภาษาไทย",
    "tr": "Bu, Türkçe yazılmış basit bir cümledir ve anlamı açıktır.",
    "uk": "Це просте речення, написане українською мовою, і його зміст зрозумілий.",
    "ur": "یہ اردو زبان میں لکھا گیا ایک سادہ جملہ ہے اور اس کا مطلب واضح ہے۔",
    "vi": "Đây là một câu đơn giản được viết bằng tiếng Việt và ý nghĩa của nó rất rõ ràng.",
    "zh": "这是一个用中文写的简单句子。",
}
IFEVAL = "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi"


@pytest.mark.parametrize("code", SENTENCES)
def test_tells_a_sentence_of_each_language(code: str) -> None:
    assert detect(SENTENCES[code]) == code


def test_knows_every_language_that_ifeval_names() -> None:
    assert set(IFEVAL.split()) <= set(LANGUAGES) & set(SENTENCES)


@pytest.mark.parametrize("text", ["", " \n", "123 456", "?!...", "\U0001f600", "½ ² ±", "\u200b"])
def test_tells_nothing_without_letters(text: str) -> None:
    assert detect(text) is None


def test_leaves_code_and_addresses_out() -> None:
    code = "```python\nfor line in the_open_file_with_english_words:\n    print(line)\n```"
    assert (
        detect(f"Das macht dieses Programm:\n{code}\nSiehe https://example.com/in/english") == "de"
    )


def test_reads_what_stands_in_a_block_if_there_is_nothing_else() -> None:
    assert detect(f'```json\n{{"a": "{SENTENCES["de"]}"}}\n```') == "de"


def test_goes_by_most_of_the_text_and_not_by_its_start() -> None:
    assert detect(f"OK. {SENTENCES['de'] * 30}") == "de"
    assert detect(f"OK, friends: {SENTENCES['zh'] * 2}") == "zh"


def test_japanese_with_many_chinese_characters_is_japanese() -> None:
    assert detect("東京都千代田区の人口動態調査結果概要") == "ja"


def test_a_megabyte_is_judged_by_a_sample() -> None:
    assert detect(SENTENCES["fr"] * 15_000) == "fr"


@given(st.text(max_size=300))
def test_gives_a_known_code_or_none_for_any_text(text: str) -> None:
    assert detect(text) in {None, *LANGUAGES}


def test_agrees_with_itself_in_another_process() -> None:
    texts = ["Das ist gut.", "no", "Paris", "OK", "la casa", "hello world", "salam"]
    program = f"from rewardhub_rules.languages import detect; print([detect(t) for t in {texts}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == str([detect(text) for text in texts])


def test_agrees_with_itself_in_many_threads() -> None:
    found: list[list[str | None]] = []
    texts = list(SENTENCES.values())
    threads = [
        threading.Thread(target=lambda: found.append([detect(each) for each in texts]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[detect(each) for each in texts]] * 4


@pytest.mark.parametrize(
    ("language", "code"),
    [("de", "de"), ("DE", "de"), ("pt-BR", "pt"), ("zh_CN", "zh"), ("German", "de"), ("nb", "no")],
)
def test_reads_codes_and_names(language: str, code: str) -> None:
    assert code_of(language) == code


@pytest.mark.parametrize("language", ["", "xx", "Klingon", "-"])
def test_reads_no_other_language(language: str) -> None:
    assert code_of(language) is None

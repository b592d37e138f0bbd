"""Long pages and long sentences are told."""

from docs.prose import PAGE_WORDS_MAX, SENTENCE_WORDS_MAX, sentences, warnings

PAGE = """# A heading of some words

One sentence. Another: with two parts.

| a | table |

```sh
code is no sentence
```
"""


def test_code_tables_and_headings_are_no_sentences() -> None:
    assert sentences(PAGE) == [["One", "sentence."], ["Another:"], ["with", "two", "parts."]]


LIST = """Nobody reads a list aloud

- the first item
  in two lines
- the second item
1. the last item

<picture>
  <img src="a.png" alt="words of a picture">
</picture>

The text after it
"""


def test_an_item_of_a_list_and_a_paragraph_are_sentences_and_pictures_are_none() -> None:
    assert [" ".join(each) for each in sentences(LIST)] == [
        "Nobody reads a list aloud",
        "the first item in two lines",
        "the second item",
        "the last item",
        "The text after it",
    ]


def test_a_long_page_is_told() -> None:
    assert list(warnings("a.md", "Two words. " * (PAGE_WORDS_MAX // 2))) == []
    [warning] = warnings("a.md", "Two words. " * (PAGE_WORDS_MAX // 2 + 1))
    assert warning.startswith(f"a.md has {PAGE_WORDS_MAX + 2} words")


def test_a_long_sentence_is_told() -> None:
    assert list(warnings("a.md", "word " * SENTENCE_WORDS_MAX)) == []
    [warning] = warnings("a.md", "word " * (SENTENCE_WORDS_MAX + 1))
    assert warning.startswith(f"a.md: {SENTENCE_WORDS_MAX + 1} words in a sentence: word")

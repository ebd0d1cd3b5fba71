"""``uaftc explain``: from a file of the reader's own to a report.

request     what is refused before anything is read
tables      reading: the rows of a file, and which are dropped
texts       words and splits
settings    how it trains
report      the stages, and what goes into the report
folds       trains on each part of the texts and asks the words of the others
pushes      what each word adds to a class: α s (`pair_values` in uaftc_lib/explain/words.py), or behind a recurrent
            encoder what reading again without it takes (`again`); on the page it is called influence
lists       which words are listed, and how sure that is
quality     how good the classifier is, beside a linear one
page        report.html, from page.html
files       writes report.html, words.csv, report.json
"""

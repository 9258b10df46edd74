"""Texts that commands print: each once, by its code, with named fields."""

from string import Formatter
from typing import Any

from sepc.common.text import at_least, many, percent

# Besides those of Python, fields have the formats of `_Fields`.
MESSAGES = {
    # all commands
    "interrupted": "interrupted; nothing was written",
    "stopped": "stopped; nothing was written",
    "not-installed": "this needs {module}, which is not installed. Run: pip install 'sepc[{extra}]'",
    "out-of-memory": "out of memory. Give it fewer rows or columns; sepc predict works through files of any size.",
    "model-written": "model written to {path}",
    "graph-written": "graph written to {path}, {size:.1f} MB",
    "compiling": "compiling the numerical code for this machine: some 10 seconds, only once",
    "compiling-each-time": "compiling the numerical code: some 10 seconds, each time, since it can be kept in no folder. Set NUMBA_CACHE_DIR to one.",
    # progress
    "reading": "reading {name}",
    "choosing-n-imp": "choosing n_imp",
    "trying-to-forget": "trying how much to forget",
    "explaining": "explaining verdicts",
    # tables that are read
    "odd-quotes": "{name} has an odd number of quotes: one of them may have swallowed rows.",
    "footer": "{name}: row {row}, the last, may be a footer: column {column!r} holds {word!r} there. If so, leave it out: --skip-footer 1.",
    "other-sheets": "{name} has {n:,} sheets with values; the first, {sheet!r}, is read; --sheet names another.",
    "unnamed-column": "{name} has a column without a name, number {number}; it is left out.",
    "numbers-for-names": "the columns of {name} have numbers for names, such as {column}: is its first line data?",
    "unlabelled-dropped": "{name}: {n:many row} without a label in column {column!r} ({rows}) {n:was} left out.",
    "similar-labels": "column {column!r} has labels that are nearly the same and count as different classes: {labels}.",
    "read-as": "{columns}: {example!r} is read as {value} ({notation})",
    # fit
    "rows-held-out": "the answers of another model are in {columns}. All rows count as held out: their trust holds if that model has not learned from them.",
    "n-imp-tried": "n_imp={best:g} by {n_folds}-fold cross-validation of the training rows: the largest whose aurc (mean share of errors\namong accepted labels, over all thresholds) is within one standard error of the lowest",
    "no-label-sets": "label sets cannot be calibrated: the test rows have labels that the model has not learned.",
    "unchangeable": "people cannot change {columns}: with {switch} no explanation proposes it. The model keeps this for sepc explain.",
    "unknown-labels": "{name} has labels that the model has not learned; they count as wrong: {labels}.",
    "training-rows": "training rows",
    "held-back": "{share:g} % of the rows, held back",
    "right-on-learned": "{rows}: right on {right:of} (too favourable, since it learned from them; --test or --holdout say more)",
    "right-on": "{rows}: right on {right:of}",
    "baselines": "for comparison, the same rows: {baselines}",
    "baseline": "{name} on {right:of}",
    "rows-accepted": "with a trust of at least {min_trust:g}: {accepted:of} accepted, right on {right:of}",
    "by-label": "by label; balanced accuracy {accuracy:percent}",
    "more-labels": "and {n:,} more labels, with a higher recall: --json shows all",
    "worse-than-baseline": "the model is right on {right:percent} of these rows (95 % interval {low:percent} to {high:percent}), clearly less than the {baseline}: {accuracy:percent}.",
    "promise-tested": "by its promise: {accepted:of} accepted, right on {right:of}",
    "promise-accepts-none": "by its promise: {accepted:of} accepted",
    # landscape
    "all-pairs": "--json shows all",
    # inspect
    "about": "{name}, fitted on {day}",
    "unnamed": "model",
    "model": "{kind}({parameters}), {n_features:many feature}, {n_regions:many region}",
    "learned-from": "learned from {n:,} rows: {classes}",
    "class-shares": "Class shares, as stated: {shares}.",
    "least-cost": "Each label has the least expected cost: {costs}.",
    "cost": "{cost:g} for {given} where {true} is true",
    "asking-cost": "Asking a person costs {costs}.",
    "not-calibrated": "not calibrated: {why}",
    "raw-trust": "trust=raw is not calibrated",
    "counting-trust": "trust={method} counts records",
    "none-left-out": "too few records to leave some of them out",
    "calibrated-around": "calibrated by {n:many record} that {n:was} held out: log odds are {model:.2g} of those of {estimator} and {regions:.2g} of those of the regions",
    "other-model": "the other model",
    "answers-read": "The answers of the other model are read from {columns}.",
    "estimator-elsewhere": "The other model, of the class {estimator}, is not in the file: --scores or --given name columns with its answers.",
    "calibrated-by-weights": "calibrated by the weights of its members; typicality by {n:many record} that {n:was} left out",
    "calibrated": "calibrated by {n:many record} that {n:was} left out; log odds are divided by {temperature:.2g}{moved}, {background:percent} of the probability follows the training shares of the labels",
    "moved-towards": " and moved by up to {by:.2g} towards label {label}",
    "with-linear-terms": " and combined with linear terms of the columns",
    "with-places": "; at {n:,} places with other labels, the records nearby decide, too",
    "no-typicality": "the model knows no typicality, so it refuses no row as strange: {why}.",
    "kept-limits": "Changes to another label are looked for{limits}.",
    "no-regions": "No regions: the classes have fewer records than features, too few for an ellipsoid.\nEach class is judged by all of its records together, and no label is accepted. Use fewer columns (--drop) or more rows.",
    "pure-without-trust": "little trust in spite of their purity: {regions}. Purity is what the training records inside show; trust is\nthe probability of the label at the centre, where what lies around it and the records that were left out count, too.",
    "more-regions": "and {n:,} more regions: sepc inspect --json shows all",
    "how-to-serve": "to serve it:",
    # predict
    "renamed-columns": "the table already has columns with our names; ours are called {names}.",
    "renamed-column": "{name} for {usual}",
    "nothing-promised": "the model's promise accepts no label ({why}). Make a new one with sepc promise, or accept by trust with --min-trust.",
    "promised-for-typicality": "the promise was made with --min-typicality {made:g}, and accepts no label with {given:g}. Leave it out, or accept by trust with --min-trust.",
    "by-trust": "a trust of at least {min_trust:g}",
    "promise-withdrawn": "{path} does not have the promise of {date}: it has learned from more rows, and accepts no label until it has a new one, or with --min-trust. Make one from rows that it has not learned from: sepc promise {path} LATER.csv --target {target} -o SIGNED.sepc",
    "by-void-promise": "the promise of {date}, which accepts no label here,",
    "by-promise": "the promise of {date} ({limit}, with a confidence of {confidence:percent}; a trust of at least {min_trust:least})",
    "by-promise-of-parts": "the promise of {date} by {by} (with a confidence of {confidence:percent})",
    "by-asking-cost": "an expected cost no larger than asking a person",
    "by-cost": "an expected cost no larger than that of other labels",
    "no-rows": "the table has column names but no rows; so has the answer.",
    "predicted": "{n:many row}; {n_accepted:,} ({share:percent}) accepted with {condition} and a typicality of at least {min_typicality:g}",
    "refused": "refused: {refusals}",
    "no-answer": "the other model gives no answer, or a label that is not known",
    "refused-since": "{n:,} ({share:percent}) since {reason}",
    "labels": "labels: {labels}",
    "reasons": "reasons: {reasons}",
    "out-of-range": "values beyond the range of training: {columns}.",
    "beyond": "beyond what training justifies, and so refused: {columns}.",
    "unseen-values": "column {column!r} has values that the model has never seen: {values}.",
    "label-sets": "label sets that hold the true label in {coverage:percent} of rows like those held back, {within}: {n_one:,} with one label, {n_several:,} with several, {n_empty:,} empty",
    "within-classes": "within each class",
    "over-all": "over all",
    "always-in-sets": "too few rows were held back for this, so every set holds {labels}.",
    # explain
    "explained-row": "Row {row}. {text}",
    "rows-explained": "{n:many row} explained in {path}",
    # promise
    "rows-of": "{n:many row} of {name}",
    "rows-kept-back": "{n:many row} of {name} that were kept back",
    "learned-left-out": "{n:many row} that {n:was} kept back equal others that the model has learned from, and {n:was} left out.",
    "meaning-of-by": "--by {by} means the model's own {by}, not the column of that name; rename the column to use it.",
    "promise": "promise of {made}: {terms}",
    "promise-from": "{date}, from {source}",
    "promise-by": "promise by {by} of {made}; all together with a confidence of {confidence:percent}; {n_accepted:,} of {n:,} rows accepted:",
    "promise-of-nothing": "with this promise no label is accepted: predict needs another one, or --min-trust",
    "no-promise": "nothing can be promised; {outlook}.",
    "more-may-help": "more calibration rows, a larger limit or a better model may allow one",
    "estimate": "an estimate: {rows}",
    "estimate-together": "an estimate for all labels together: {rows}",
    # report
    "report-written": "report written to {path}; it names test records by their rows in the file, {training}",
    "no-training-record": "from 1, and shows no training record",
    "training-records": "and training records by their rows in the file that the model has learned from, both from 1",
    "n-imp-chosen": "n_imp={best:g}, by cross-validation of the rows to learn from",
    "fitted-and-tested": "fitted to {n:,} of the rows, tested with {tested_with}",
    "rows-of-file": "the {n:,} of {path}",
    "rows-drawn": "the other {n:,}: {share:g} % of each class, drawn with the seed {seed}",
    # compare
    "differing-written": "{n:,} rows on which the labels differ written to {path}",
    "compared-learned": "{models}: results on them are too favourable, and so is the comparison.",
    "one-learned": "{model} has learned from {n:,} of these rows",
    "labels-unknown-to-both": "{name} has labels that neither model knows; both are wrong there: {labels}.",
    "trust-from": "trust from {min_trust:g}",
    "as-promised": "as promised, else {otherwise}",
    "compared-labelled": "{name}: {n:,} rows, {n_labelled:,} with a label",
    "compared": "{name}: {n:,} rows, without labels (--target names them)",
    "labels-differ": "The labels differ in {rows:of}",
    "labels-differ-right": ("The labels differ in {rows:of}: A is right in {a:,}, B in {b:,}, neither in {neither:,}"),
    "better-by-mcnemar": "{p} by the exact test of McNemar: {model} is right more often, and chance hardly explains it",
    "chance-by-mcnemar": "{p} by the exact test of McNemar: chance can explain the difference",
    "p-value": "p = {p:.2g}",
    "small-p-value": "p below 0.0001",
    "more-pairs": "and {n:,} more pairs of labels",
    "differ-most": "They differ most where {groups}",
    "differing-rows": "Rows on which they differ, first those where both are surest",
    "more-differing-rows": "and {n:,} more: -o FILE writes all",
    # feedback
    "will-take-rows": "-o MODEL adds these rows to the training records, and partitions them again",
    "has-taken-rows": "{path} has these rows among its training records, partitioned again",
    "watched-by-chance": "alarm on errors: labelled rows were chosen with the chances in column {column}",
    "watched-by-all": "alarm on errors: every row was meant to get a label (--labels all)",
    "errors-not-watched": "the alarm on errors ignores the labelled rows: nobody said how they were chosen. If every row was meant to get a label, pass --labels all; if some were chosen, --probability COL with the chance of each.",
    "learned-before": "the model has learned from {n:many row} of these ({rows}); they do not show how it does on new ones.",
    "repeated-once": "{n:many row} {n:verb repeat} an earlier one, label included ({rows}): a row and its repeats count once.",
    "repeated": "{n:many row} {n:verb repeat} an earlier one, label included ({rows}): each counts by itself; --once counts it once.",
    "observed-before": "{path}: {n:many row} observed before",
    "nothing-observed": "{path}: nothing observed before",
    "observed-elsewhere": "{n:many row} observed by another model, which has learned from some or was given up, do not count here",
    "batch-cut-off": "{path} ends in an incomplete batch; it goes on from the last complete one.",
    "nothing-to-learn": "no verdict was wrong: there is nothing to learn, and {path} is not written",
    "only-labels-new": "{path} already holds {n:many row} like these without labels; now only their labels count.",
    # desk
    "desk-added": "{name}: {n:many row}, of which {n_asked:,} go to people",
    "desk-closed": "the desk is closed; everything decided is in {path}",
    "desk-exported": "{n:many row} with decisions written to {path}",
    "desk-known": "{name} is on the desk already",
    "desk-open": "{person}: {url}",
    "desk-progress": "{n:many record} {n:verb wait}, {n_decided:,} decided",
    "desk-verified": "{path}: {n:many event}, each as it was written; the last has the digest {head}",
    "serving": "{name}, version {version}, is served at {url}",
    "known-rows": "{path} holds the same {n:many row} since {day}; they are not counted again.",
}


class _Fields(Formatter):
    """Formatter that knows also "percent" for a share, "least" for a threshold, "of" for a pair of counts.

    A count has "many row", "verb repeat" and "was".
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        kind, _, noun = format_spec.partition(" ")
        if kind == "percent":
            return percent(value)
        if kind == "of":
            n, of = value
            return f"{n:,} of {of:,} ({percent(n / of)})" if of else "none"
        if kind == "least":
            return at_least(value)
        if kind == "verb":
            return f"{noun}s" if value == 1 else noun
        if kind == "many":
            return many(value, noun)
        if kind == "was":
            return "was" if value == 1 else "were"
        return format(value, format_spec)


def printed(code: str, **fields: Any) -> str:
    """Return a text, by its code."""
    return _Fields().vformat(MESSAGES[code], (), fields)

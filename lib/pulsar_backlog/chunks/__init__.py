"""Pure folds over ordered chunk rows: publications, their state, flags, roles and manifests.

Start at `fold.fold_family`; the words are explained in docs/verdicts.md.
"""

"""The pages that the programs write: estimators, commands, settings. Text in, Markdown out."""
import json

FAMILIES = {   # in the order of the page; a family that is not here comes after them under its own name
    "linear_model": "Linear models", "svm": "Support vectors", "neighbors": "Neighbours", "tree": "Trees", "ensemble": "Forests", "naive_bayes": "Naive Bayes",
    "discriminant_analysis": "Discriminants", "cluster": "Clusters", "decomposition": "Decomposition", "preprocessing": "Preprocessing",
    "impute": "Missing values", "kernel_approximation": "Kernels", "feature_selection": "Selection", "over_sampling": "Over-sampling", "under_sampling": "Under-sampling", "compose": "Composition",
    "pipeline": "Composition of features", "dummy": "Baselines",
}


def form_text(form):
    """`number of at least 0`, `"auto" or "svd"`, ..."""
    if form.get("choices"):
        return " or ".join(f'`"{choice}"`' for choice in form["choices"])
    text = form["type"]
    bounds = []
    if "minimum" in form:
        bounds.append(("greater than" if form.get("exclusiveMinimum") else "at least") + f" {number(form['minimum'])}")
    if "maximum" in form:
        bounds.append(("less than" if form.get("exclusiveMaximum") else "at most") + f" {number(form['maximum'])}")
    return text + (", " + " and ".join(bounds) if bounds else "")


def number(value):
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e16 else value


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def parameter_row(param):
    forms = "; ".join(form_text(form) for form in param.get("forms", []))
    return f"| `{param['name']}` | {cell(forms)} | `{cell(json.dumps(param.get('defaultValue')))}` | {cell(param.get('doc', ''))} |"


def estimator_part(estimator):
    lines = [f"### {estimator['name']}", "", f"{estimator['doc']} ({estimator['kind']})", ""]
    if estimator["params"]:
        lines += ["| parameter | values | default | |", "|---|---|---|---|", *map(parameter_row, estimator["params"]), ""]
    if estimator.get("attributes"):
        lines += ["Fitted attributes: " + ", ".join(f"`{name}`" for name in estimator["attributes"]) + ".", ""]
    if estimator.get("deviations"):
        lines += ["Where it differs from scikit-learn:", "", *(f"- {text}" for text in estimator["deviations"]), ""]
    if estimator.get("hostPart"):
        lines += [f"On a GPU the host still computes {estimator['hostPart']}.", ""]
    return lines


def estimators_page(estimators, scorers):
    by_family = {}
    for estimator in estimators:
        by_family.setdefault(estimator["family"], []).append(estimator)
    order = [family for family in FAMILIES if family in by_family] + sorted(set(by_family) - set(FAMILIES))
    lines = ["# Estimators", "", f"{len(estimators)} estimators, with scikit-learn's names, parameters and defaults. `kedge estimators NAME` prints the same.", "",
             "| family | estimators |", "|---|---|"]
    for family in order:
        names = ", ".join(f"[{e['name']}](#{e['name'].lower()})" for e in by_family[family])
        lines.append(f"| {FAMILIES.get(family, family)} | {names} |")
    lines.append("")
    for family in order:
        lines += [f"## {FAMILIES.get(family, family)}", ""]
        for estimator in by_family[family]:
            lines += estimator_part(estimator)
    lines += ["## Scorers", "", ", ".join(f"`{name}`" for name in scorers) + ".", ""]
    return "\n".join(lines)


def commands_page(help_of):
    """help_of(*words) is what `kedge help WORDS` prints."""
    overview = help_of()
    names = []
    listing = False
    for line in overview.splitlines():
        listing = (listing or line.endswith(":")) and not line.startswith(("Options:", "Begin with:"))
        if listing and line.startswith("  ") and not line.startswith("   "):
            names.append(line.split()[0])
    lines = ["# Commands", "", "```text", overview.rstrip(), "```", ""]
    for name in names:
        lines += [f"## kedge {name}", "", "```text", help_of(name).strip(), "```", ""]
    return "\n".join(lines)


def settings_page(text):
    return "\n".join(["# Settings", "", "Every setting of `kedged` is a flag, a variable `KEDGE_NAME` and a key of the file of `--config` ([Server](server.md#configuration)).", "",
                      "```text", text.strip(), "```", ""])

"""Whether every text of the site can be read: contrasts of at least 4.5 to 1, as WCAG counts them, from the style sheets."""

import re

LEAST = 4.5
TEXTS = ["foreground-primary", "foreground-secondary", "foreground-muted", "brand-primary", "brand-content", "brand-visited"]
TEXTS += ["problematic", "api-keyword", "api-name", "api-pre-name", "link", "inline-code-text", "sidebar-link-text", "toc-item-text"]
GROUNDS = ["background-primary", "background-secondary", "admonition-background", "card-background"]
VARIABLES = re.compile(r"(?P<where>[^{}]*)\{(?P<body>[^{}]*--color-[^{}]*)\}")


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits[:6]
    parts = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def variables(css):
    """The theme's colours by name, light and dark."""
    light, dark = {}, {}
    for rule in VARIABLES.finditer(css):
        found = dict(re.findall(r"--color-([\w-]+):([^;]+)", rule["body"]))
        if "data-theme=dark" in rule["where"]:
            dark |= found
        elif "not(" not in rule["where"]:
            light |= found
    return light, {**light, **dark}


def value(colours, name):
    """A colour as #rrggbb; None for what is none."""
    text = colours.get(name, "")
    match = re.fullmatch(r"var\(--color-([\w-]+)\)", text)
    if match:
        return value(colours, match[1])
    names = {"black": "#000", "white": "#fff"}
    return names.get(text) or (text if re.fullmatch(r"#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}", text) else None)


def theme_pairs(css):
    for mode, colours in zip(("light", "dark"), variables(css), strict=True):
        for ground in GROUNDS:
            for text in TEXTS:
                pair = value(colours, text), value(colours, ground)
                if all(pair):
                    yield f"{mode}: {text} on {ground}", *pair


def code_pairs(css):
    """The colours of code, each on the ground that it stands on."""
    for mode, head in (("light", ""), ("dark", r'body\[data-theme="dark"\] ')):
        ground = re.search(rf"^{head}\.highlight \{{ background: (#\w+)", css, re.MULTILINE)[1]
        for rule in re.finditer(rf"^{head}\.highlight \.(\w+) \{{ color: (#\w+)(?:; background-color: (#\w+))?", css, re.MULTILINE):
            if rule[1] not in ("err", "w"):  # errors are warnings of the build, and white space is not seen
                yield f"{mode}: code .{rule[1]}", rule[2], rule[3] or ground


def faults(static):
    """What is too faint in the style sheets of a built site, one line each, and how many pairs were looked at."""
    pairs = [*theme_pairs((static / "styles" / "furo.css").read_text()), *code_pairs((static / "pygments.css").read_text())]
    found = [
        f"{name}: {text} on {ground} has a contrast of {contrast(text, ground):.2f}, and needs {LEAST}"
        for name, text, ground in pairs
        if contrast(text, ground) < LEAST
    ]
    return found, len(pairs)

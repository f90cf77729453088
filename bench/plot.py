"""Plots as SVG, without a library: lines on logarithmic axes."""
import math
from xml.sax.saxutils import escape

# Okabe and Ito's colours, and dashes for readers who cannot tell them apart.
STYLES = [("#0072B2", ""), ("#D55E00", "6 4"), ("#009E73", "2 3"), ("#CC79A7", "8 3 2 3")]
WIDTH, HEIGHT, LEFT, TOP, GAP = 400, 300, 70, 46, 90


def _decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def log_log(panels, x_title):
    """Draws panels side by side. A panel is (title, {name of a line: [(x, y), …]})."""
    total = LEFT + len(panels) * (WIDTH + GAP)
    height = TOP + HEIGHT + 76
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" width="{total}" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for index, (title, lines) in enumerate(panels):
        out += _panel(LEFT + index * (WIDTH + GAP), title, lines, x_title)
    return "\n".join([*out, "</svg>", ""])


def _panel(left, title, lines, x_title):
    points = [point for line in lines.values() for point in line]
    x_low, x_high = _decades([x for x, _ in points])
    y_low, y_high = _decades([y for _, y in points])

    def x_at(value):
        return left + WIDTH * (math.log10(value) - x_low) / (x_high - x_low)

    def y_at(value):
        return TOP + HEIGHT * (1 - (math.log10(value) - y_low) / (y_high - y_low))

    out = [
        f'<text x="{left}" y="{TOP - 14}" font-size="14">{escape(title)}</text>',
        f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle" fill="#555">{escape(x_title)}</text>',
    ]
    for power in range(x_low, x_high + 1):
        x = x_at(10**power)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" fill="#555">{10**power:g}</text>')
    for power in range(y_low, y_high + 1):
        y = y_at(10**power)
        out.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour, dash = STYLES[number % len(STYLES)]
        if not line:
            continue
        path = " L".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in line)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        for x, y in line:
            out.append(f'<circle cx="{x_at(x):.1f}" cy="{y_at(y):.1f}" r="3.5" fill="{colour}"/>')
            out.append(f'<text x="{x_at(x) + 6:.1f}" y="{y_at(y) + (14 if number else -7):.1f}" font-size="11" fill="{colour}">{y:.3g}</text>')
        x = left + number * 150
        out.append(f'<line x1="{x}" x2="{x + 24}" y1="{TOP + HEIGHT + 58}" y2="{TOP + HEIGHT + 58}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        out.append(f'<text x="{x + 30}" y="{TOP + HEIGHT + 62}">{escape(name)}</text>')
    return out

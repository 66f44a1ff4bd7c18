package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"maestro/internal/safetext"
)

const (
	// pipeWidth is the maximum width of a line with a text in a file or a pipe, enough for a sentence or two.
	pipeWidth = 400
	// textAtLeast is the minimum width of a text, however wide the other cells are, and wrapAtLeast of one that
	// continues on the next line.
	textAtLeast = 12
	wrapAtLeast = 24
	// between separates columns.
	between = "  "
)

// If a table is wider than the terminal, detailColumns are cut first, because they only sum up what is elsewhere, and
// then titleColumns. Ids are cut only if little else is left to cut, and those of the first column never, so that they
// can be copied. statusColumns are cut last: they are what a list is read for.
var (
	statusColumns = []string{"STATUS", "SAYS"}
	detailColumns = []string{"BELOW"}
	titleColumns  = []string{"TITLE", "NAME", "NOTE"}
)

// detailAtLeast is the width to which titles and details are cut before anything else is: "1 of 5…".
const detailAtLeast = 7

// cutting is a step of the cutting of a table: the columns that it cuts, and their minimum width.
type cutting struct {
	columns func(column int) bool
	least   int
}

// cuttings returns the steps for columns.
func cuttings(columns []string) []cutting {
	in := func(names []string) func(int) bool {
		return func(i int) bool { return i < len(columns) && slices.Contains(names, columns[i]) }
	}
	return []cutting{
		{in(detailColumns), detailAtLeast},
		{in(titleColumns), detailAtLeast},
		{func(i int) bool { return i > 0 && columns != nil && !in(statusColumns)(i) }, 1},
		{func(i int) bool { return i > 0 && columns != nil }, 1},
	}
}

// textColumn is the header of a last column that continues on the next line: its text is what the table is for. The
// last column of a table without headers is such a column too.
const textColumn = "WHAT"

// table prints rows in columns. On a terminal they have headers, if columns names them, statuses have colours, titles
// are cut to its width and texts wrapped, empty columns are omitted, and cells do not repeat their header.
func (a *Run) table(columns []string, rows [][]string) {
	harmless(rows)
	screen := a.onScreen()
	if screen == nil {
		a.aligned(rows, func(_, _ int, cell string) string { return cell })
		return
	}
	columns, rows = withoutEmpty(columns, rows)
	wraps := columns == nil || slices.Index(columns, textColumn) == len(columns)-1
	if columns != nil {
		for _, row := range rows {
			for i, cell := range row {
				row[i] = withoutHeader(columns[i], cell)
			}
		}
		rows = slices.Insert(slices.Clone(rows), 0, slices.Clone(columns))
	}
	if wraps {
		rows = fitWrapped(rows, screen.Width, cuttings(columns))
	} else {
		fit(rows, screen.Width, cuttings(columns))
	}
	a.aligned(rows, func(line, i int, cell string) string {
		colour := ""
		switch {
		case !screen.Colour || columns == nil || cell == "":
			return cell
		case line == 0:
			return dim + cell + plain
		case columns[i] == "SAYS":
			colour = statusColour("says " + cell)
		case columns[i] == "STATUS":
			colour = statusColour(cell)
		}
		if colour != "" {
			return colour + cell + plain
		}
		return cell
	})
}

// withoutHeader removes the words of a column's header from a cell, which contains them for output without headers:
// "says failed" below SAYS is "failed", and "3 tasks" below TASKS is 3.
func withoutHeader(header, cell string) string {
	word := strings.ToLower(header)
	if word == "" {
		return cell
	}
	if rest, ok := strings.CutPrefix(cell, word+" "); ok {
		return rest
	}
	number, of, _ := strings.Cut(cell, " ")
	if _, err := strconv.Atoi(number); err == nil && (of == word || of+"s" == word) {
		return number
	}
	return cell
}

// withoutEmpty omits the columns that have a header and are empty in each row.
func withoutEmpty(columns []string, rows [][]string) ([]string, [][]string) {
	for i := len(columns) - 1; i >= 0; i-- {
		if columns[i] == "" || slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		columns = slices.Delete(slices.Clone(columns), i, i+1)
		for n := range rows {
			rows[n] = slices.Delete(rows[n], i, i+1)
		}
	}
	return columns, rows
}

// fitted is table for rows with a text in the last column, which is cut even without a terminal.
func (a *Run) fitted(columns []string, rows [][]string) {
	harmless(rows)
	if a.onScreen() == nil {
		fit(rows, pipeWidth, nil)
	}
	a.table(columns, rows)
}

// lineWidth returns the maximum length of a line.
func (a *Run) lineWidth() int {
	if screen := a.onScreen(); screen != nil {
		return screen.Width
	}
	return pipeWidth
}

// harmless escapes foreign text and joins its lines, before widths are measured and colours are added.
func harmless(rows [][]string) {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = safetext.Harmless(safetext.OneLine(cell))
		}
	}
}

// aligned prints rows of escaped texts with each column as wide as its widest cell.
func (a *Run) aligned(rows [][]string, paint func(line, column int, cell string) string) {
	widths := widthsOf(rows)
	for n, row := range rows {
		var line strings.Builder
		missing := 0
		for i, cell := range row {
			if cell != "" {
				line.WriteString(strings.Repeat(" ", missing))
				missing = 0
				line.WriteString(paint(n, i, cell))
			}
			missing += widths[i] - displaywidth.String(cell) + len(between)
		}
		line.WriteString("\n")
		a.write([]byte(line.String()))
	}
}

// widthsOf returns the width of each column, in columns of a terminal.
func widthsOf(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	return widths
}

// fit shortens cells until rows fit a width, step by step, and in each step the longest first; nil cuts the last cell
// of each row.
func fit(rows [][]string, width int, steps []cutting) {
	widths := widthsOf(rows)
	if steps == nil {
		steps = []cutting{{func(i int) bool { return i == len(widths)-1 }, textAtLeast}}
	}
	over := -width - len(between)
	for _, w := range widths {
		over += w + len(between)
	}
	for _, step := range steps {
		for ; over > 0; over-- {
			longest := -1
			for i, w := range widths {
				if step.columns(i) && w > step.least && (longest < 0 || w > widths[longest]) {
					longest = i
				}
			}
			if longest < 0 {
				break
			}
			widths[longest]--
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = displaywidth.TruncateString(cell, widths[i], "…")
		}
	}
}

// fitWrapped is fit for rows whose last cell continues on the next line, in a row of its own.
func fitWrapped(rows [][]string, width int, steps []cutting) [][]string {
	texts := make([]string, len(rows))
	for n, row := range rows {
		last := len(row) - 1
		texts[n] = row[last]
		row[last] = displaywidth.TruncateString(row[last], wrapAtLeast, "")
	}
	fit(rows, width, steps)
	left := width
	if widths := widthsOf(rows); len(widths) > 0 {
		for _, w := range widths[:len(widths)-1] {
			left -= w + len(between)
		}
	}
	var out [][]string
	for n, row := range rows {
		last := len(row) - 1
		lines := wrapped(texts[n], max(left, textAtLeast), len(texts[n])+1)
		row[last] = ""
		for i, line := range lines {
			if i > 0 {
				row = make([]string, last+1)
			}
			row[last] = line
			out = append(out, row)
		}
		if len(lines) == 0 {
			out = append(out, row)
		}
	}
	return out
}

// wrapped breaks a text between words into lines of a width, and cuts the last of at most lines lines. An empty text
// has no lines.
func wrapped(text string, width, lines int) []string {
	var out []string
	line := ""
	words := fieldsOf(text, width)
	for i, word := range words {
		longer := strings.TrimSpace(line + " " + word)
		switch {
		case len(out) == lines-1:
			return append(out, clip(strings.TrimSpace(line+" "+strings.Join(words[i:], " ")), width))
		case line != "" && displaywidth.String(longer) > width:
			out = append(out, line)
			line = word
		default:
			line = longer
		}
	}
	if line == "" {
		return out
	}
	return append(out, clip(line, width))
}

// fieldsOf returns the words of a text, with those that are wider than a line in parts.
func fieldsOf(text string, width int) (words []string) {
	for _, word := range strings.Fields(text) {
		for displaywidth.String(word) > width {
			part := displaywidth.TruncateString(word, width, "")
			if part == "" {
				break
			}
			words, word = append(words, part), word[len(part):]
		}
		words = append(words, word)
	}
	return words
}

// clip cuts a text to one line of a width.
func clip(text string, width int) string {
	return displaywidth.TruncateString(safetext.OneLine(text), width, "…")
}

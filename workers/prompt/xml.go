package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"maestro/internal/safetext"
)

// longText is how many characters a text may have before its element says that it is long. It is not truncated.
const longText = 20_000

// name is the name of an element or attribute. Only constants of this package are names.
type name string

// attr is an attribute.
type attr struct {
	name  name
	value string
}

// some returns an attribute, or none if the value is empty.
func some(n name, value string) []attr {
	if value == "" {
		return nil
	}
	return []attr{{n, value}}
}

// xmlWriter writes elements, each on a line of its own. It alone escapes text and attribute values, and its output is
// always well-formed.
type xmlWriter struct {
	b    bytes.Buffer
	open []name
}

func (w *xmlWriter) indent() {
	for range w.open {
		w.b.WriteString("  ")
	}
}

func (w *xmlWriter) tag(n name, attrs []attr) {
	w.indent()
	w.b.WriteByte('<')
	w.b.WriteString(string(n))
	for _, a := range attrs {
		w.b.WriteByte(' ')
		w.b.WriteString(string(a.name))
		w.b.WriteString(`="`)
		w.b.WriteString(attributeEscapes.Replace(safetext.Spell(a.value)))
		w.b.WriteByte('"')
	}
}

// start opens an element; end closes it.
func (w *xmlWriter) start(n name, attrs ...attr) {
	w.tag(n, attrs)
	w.b.WriteString(">\n")
	w.open = append(w.open, n)
}

func (w *xmlWriter) end() {
	last := len(w.open) - 1
	n := w.open[last]
	w.open = w.open[:last]
	w.indent()
	w.b.WriteString("</" + string(n) + ">\n")
}

// empty writes an element without content.
func (w *xmlWriter) empty(n name, attrs ...attr) {
	w.tag(n, attrs)
	w.b.WriteString(" />\n")
}

// text writes an element with a text, unchanged.
func (w *xmlWriter) text(n name, text string, attrs ...attr) {
	if length := utf8.RuneCountInString(text); length > longText {
		attrs = append(attrs[:len(attrs):len(attrs)], attr{"long", fmt.Sprintf("%d characters, nothing left out",
			length)})
	}
	w.tag(n, attrs)
	w.b.WriteByte('>')
	w.b.WriteString(textEscapes.Replace(safetext.Spell(text)))
	w.b.WriteString("</" + string(n) + ">\n")
}

// optional writes an element that holds a text, or nothing if there is none.
func (w *xmlWriter) optional(n name, text string, attrs ...attr) {
	if text != "" {
		w.text(n, text, attrs...)
	}
}

// lines writes an element with lines, one below the other.
func (w *xmlWriter) lines(n name, lines []string, attrs ...attr) {
	w.start(n, attrs...)
	for _, line := range lines {
		w.indent()
		w.b.WriteString(textEscapes.Replace(safetext.Spell(line)))
		w.b.WriteByte('\n')
	}
	w.end()
}

// list writes an element with a child for each text, or nothing if there are none.
func (w *xmlWriter) list(n, each name, texts []string, attrs ...attr) {
	if len(texts) == 0 {
		return
	}
	w.start(n, attrs...)
	for _, text := range texts {
		w.text(each, text)
	}
	w.end()
}

// entry is a member of a free JSON object.
type entry struct {
	key   string
	value json.RawMessage
}

// entriesOf returns the members of a free JSON object in the order in which they were written.
func entriesOf(raw json.RawMessage) ([]entry, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, errors.New("is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	var entries []entry
	for decoder.More() {
		var e entry
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		e.key, _ = key.(string)
		if err := decoder.Decode(&e.value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entries writes members of a free JSON object. Their names become attribute values, because they are untrusted.
func (w *xmlWriter) entries(n name, entries []entry) {
	if len(entries) == 0 {
		return
	}
	w.start(n)
	w.members(entries)
	w.end()
}

func (w *xmlWriter) members(entries []entry) {
	for _, e := range entries {
		w.text("entry", free(e.value), attr{"name", e.key})
	}
}

// free shows a JSON value: a string as its text, anything else as JSON.
func free(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

var (
	textEscapes      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attributeEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#xA;", "\t",
		"&#x9;")
)

// oneLine returns a text on one line, with hidden characters spelled out.
func oneLine(text string) string { return strings.Join(strings.Fields(safetext.Spell(text)), " ") }

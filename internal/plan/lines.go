package plan

import (
	"strings"
	"unicode/utf8"
)

// oneDocument refuses, before the YAML library reads the text, what a plan has no use for: directives, all of which the
// library compares with each other, and further documents, which can begin with directives. It returns the line and
// what is wrong there; 0 if nothing is.
//
// Markers of documents are at the beginning of a line wherever they are: nothing else of a document may look like them.
func oneDocument(text string) (line int, wrong string) {
	const second = "a plan is one YAML document, and here a second one begins"
	text = strings.TrimPrefix(text, "\ufeff")
	begun, ended := false, false
	for line = 1; text != ""; line++ {
		var here string
		here, text = cutLine(text)
		said := strings.TrimLeft(here, " \t")
		switch {
		case isMarker(here, "---"):
			if begun || ended {
				return line, second
			}
			begun = true
		case isMarker(here, "..."):
			ended = true
		case said == "" || said[0] == '#':
		case ended:
			return line, second
		case !begun && strings.HasPrefix(strings.TrimPrefix(here, "\ufeff"), "%"):
			return line, "a plan uses no directives, which begin with %"
		default:
			begun = true
		}
	}
	return 0, ""
}

// isMarker reports whether a line begins or ends a document.
func isMarker(line, marker string) bool {
	rest, found := strings.CutPrefix(line, marker)
	return found && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// cutLine returns the first line of a text, and the rest after its line break: one of those that YAML 1.1 knows.
func cutLine(text string) (line, rest string) {
	at := strings.IndexAny(text, "\n\r\u0085\u2028\u2029")
	if at < 0 {
		return text, ""
	}
	if strings.HasPrefix(text[at:], "\r\n") {
		return text[:at], text[at+2:]
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return text[:at], text[at+size:]
}

package commands

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"maestro/internal/safetext"
	"maestro/projections"
)

// Limits of names and of the idempotency keys of commands, in characters.
const (
	MaxName = 200
	MaxKey  = 200
)

// KeyName is the name of a command's idempotency key: HTTP uses it as the header.
const KeyName = "Idempotency-Key"

const (
	maxTitle = 200
	maxPath  = 4096
	maxList  = 1000
	maxID    = 128
	maxType  = 100
	// maxOptions is the maximum number of options of a question.
	maxOptions = 20
)

// ValidID returns what is wrong with a client's id, or nil: 1 to 128 characters of [A-Za-z0-9_-].
func ValidID(pointer, id string) error {
	if id == "" {
		return invalid(pointer, "%s is required", strings.TrimPrefix(pointer, "/"))
	}
	if len(id) > maxID {
		return invalid(pointer, "an id has at most %d characters, this has %d", maxID, len(id))
	}
	for _, r := range id {
		if r != '_' && r != '-' && (r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			return &Refusal{
				Code:    CodeInvalid,
				Pointer: pointer,
				Message: "'" + safetext.Printable(id) + "' is not an id",
				Why:     "ids hold letters, digits, '_' and '-' only",
			}
		}
	}
	return nil
}

func validIDs(pointer string, ids []string) error {
	if len(ids) > maxList {
		return invalid(pointer, "at most %d ids, these are %d", maxList, len(ids))
	}
	for i, id := range ids {
		if ValidID("", id) != nil {
			return ValidID(pointer+"/"+strconv.Itoa(i), id)
		}
	}
	return nil
}

// ValidText refuses what JSON permits and no view could show: invalid UTF-8 and NUL.
func ValidText(pointer, text string) error {
	if !utf8.ValidString(text) {
		return invalid(pointer, "%s is not valid UTF-8", nameOf(pointer))
	}
	if strings.ContainsRune(text, 0) {
		return invalid(pointer, "%s contains a NUL character", nameOf(pointer))
	}
	return nil
}

// ValidLine checks names and titles: one line, no control characters.
func ValidLine(pointer, text string, most int) error {
	if err := ValidText(pointer, text); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(text); n > most {
		return invalid(pointer, "%s has at most %d characters, this has %d", nameOf(pointer), most, n)
	}
	if !IsOneLine(text) {
		return invalid(pointer, "%s contains a control character", nameOf(pointer))
	}
	return nil
}

// IsOneLine reports whether a text has no control characters, and so is one line.
func IsOneLine(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }

// validObject accepts an absent value or a JSON object.
func validObject(pointer string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if !strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{") {
		return invalid(pointer, "%s must be an object", nameOf(pointer))
	}
	return nil
}

func nameOf(pointer string) string {
	if pointer == "" {
		return "the body"
	}
	return strings.TrimPrefix(pointer, "/")
}

// What costs a decision as much as one look-up: comparing with so many names of a list, keeping or finding so many in a
// set, checking so many bytes of text, and reading so many of JSON.
const (
	namesPerStep = 10
	setPerStep   = 2
	textPerStep  = 64
	jsonPerStep  = 16
)

func unique(ids []string) []string {
	if len(ids) <= 1 {
		return append([]string(nil), ids...)
	}
	var kept []string
	seen := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		if _, known := seen[id]; !known {
			seen[id] = struct{}{}
			kept = append(kept, id)
		}
	}
	return kept
}

// A generated id has at least shortestID of these digits after its prefix.
const (
	idDigits   = "0123456789abcdefghjkmnpqrstvwxyz"
	shortestID = 10
)

// IsTaskID reports whether a text has the form of a generated task id.
func IsTaskID(text string) bool {
	digits, ok := strings.CutPrefix(text, "task_")
	return ok && len(digits) >= shortestID && strings.Trim(digits, idDigits) == ""
}

// newID returns "<prefix>_<characters of the event's id>": short, and the same whenever the decision is repeated.
func newID(prefix string, c Call, taken func(id string) bool) string {
	var text []byte
	var buffer uint32
	bits := 0
	for _, octet := range c.ID {
		buffer = buffer<<8 | uint32(octet)
		for bits += 8; bits >= 5; bits -= 5 {
			text = append(text, idDigits[buffer>>(bits-5)&31])
		}
	}
	for n := shortestID; n < len(text); n++ {
		if id := prefix + "_" + string(text[:n]); !taken(id) {
			return id
		}
	}
	return prefix + "_" + string(text)
}

func taskTaken(s *projections.State) func(string) bool {
	return func(id string) bool { return s.TaskProject(id) != "" }
}

func sessionTaken(s *projections.State) func(string) bool {
	return func(id string) bool { return s.SessionProject(id) != "" }
}

// isAbsolute reports whether a path is absolute on the machine of an agent, which may be any.
func isAbsolute(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return strings.HasPrefix(path, "/") || drive || strings.HasPrefix(path, `\\`)
}

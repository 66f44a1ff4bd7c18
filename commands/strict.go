package commands

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// strictJSON refuses what encoding/json lets through in a body that it has accepted: a name in the wrong case, a name that
// stands twice, at any depth, and half of a surrogate pair, which no text holds.
func strictJSON(body []byte, command Command) error {
	s := strictScanner{b: body, fields: fieldsOf(command)}
	s.space()
	if s.i < len(s.b) && s.b[s.i] != '{' {
		return invalid("", "the body must be a JSON object")
	}
	return s.value("", 0)
}

// fieldsOf gives the names that a command's body may have.
func fieldsOf(command Command) []string { return appendFields(nil, reflect.TypeOf(command).Elem()) }

func appendFields(names []string, t reflect.Type) []string {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			names = appendFields(names, field.Type)
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// strictScanner walks over valid JSON.
type strictScanner struct {
	b      []byte
	i      int
	fields []string
}

func (s *strictScanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// value walks over one value; in the body itself, at depth 0, names are a command's fields.
func (s *strictScanner) value(pointer string, depth int) error {
	s.space()
	switch s.b[s.i] {
	case '{':
		return s.object(pointer, depth)
	case '[':
		return s.list(pointer, depth)
	case '"':
		_, err := s.text(pointer)
		return err
	}
	for s.i < len(s.b) && !bytes.ContainsRune([]byte(" \n\t\r,]}"), rune(s.b[s.i])) {
		s.i++
	}
	return nil
}

func (s *strictScanner) list(pointer string, depth int) error {
	for s.i++; ; s.i++ {
		s.space()
		if s.b[s.i] == ']' {
			s.i++
			return nil
		}
		if err := s.value(pointer, depth+1); err != nil {
			return err
		}
		s.space()
		if s.b[s.i] == ']' {
			s.i++
			return nil
		}
	}
}

func (s *strictScanner) object(pointer string, depth int) error {
	var room [16]string
	seen := room[:0]
	for s.i++; ; s.i++ {
		s.space()
		if s.b[s.i] == '}' {
			s.i++
			return nil
		}
		name, err := s.text(pointer)
		if err != nil {
			return err
		}
		at := pointer
		if depth == 0 {
			at = "/" + name
			if !slices.Contains(s.fields, name) {
				return invalid(at, "there is no field %q here", printable(name))
			}
		}
		if slices.Contains(seen, name) {
			return invalid(at, "the field %q stands twice", printable(name))
		}
		seen = append(seen, name)
		s.space()
		s.i++ // the colon
		if err := s.value(at, depth+1); err != nil {
			return err
		}
		s.space()
		if s.b[s.i] == '}' {
			s.i++
			return nil
		}
	}
}

// text walks over a string and gives what it says.
func (s *strictScanner) text(pointer string) (string, error) {
	start, escaped := s.i, false
	for s.i++; s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] != '\\' {
			continue
		}
		escaped = true
		if s.b[s.i+1] == 'u' {
			pair, whole := surrogate(s.b[s.i:])
			if pair && !whole {
				return "", invalid(pointer, "%s holds half of a surrogate pair, which is no character", nameOf(pointer))
			}
			if pair {
				s.i += 6
			}
			s.i += 4
		}
		s.i++
	}
	s.i++
	if !escaped {
		return string(s.b[start+1 : s.i-1]), nil
	}
	var text string
	err := json.Unmarshal(s.b[start:s.i], &text)
	return text, err
}

// surrogate reports whether an escape begins or ends a surrogate pair, and whether the pair is whole and begins there.
func surrogate(escape []byte) (pair, whole bool) {
	unit := func(at int) (high, low bool) {
		if len(escape) < at+6 || escape[at] != '\\' || escape[at+1] != 'u' || escape[at+2]|0x20 != 'd' {
			return false, false
		}
		switch escape[at+3] | 0x20 {
		case '8' | 0x20, '9' | 0x20, 'a', 'b':
			return true, false
		case 'c', 'd', 'e', 'f':
			return false, true
		}
		return false, false
	}
	high, low := unit(0)
	if !high {
		return low, false
	}
	_, followed := unit(6)
	return true, followed
}

package commands

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"maestro/internal/safetext"
)

// CheckNames refuses a JSON body that exceeds a limit of docs/limits.md, before anything else reads it. The body may
// hold unknown fields. It also refuses what encoding/json accepts: duplicate names, and known names in the wrong case.
// Its work grows only with the length of the body, and it ends with ctx. It leaves a body that is not JSON to
// encoding/json.
func CheckNames(ctx context.Context, body []byte, into any) error {
	s := newScanner(ctx, body)
	s.lax = true
	if t := reflect.TypeOf(into); t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		f := formOf(into)
		s.fields, s.pointers = append([]string{}, f.fields...), f.pointers
	}
	if s.scan(); s.stop != nil {
		return s.stop
	}
	return s.fault
}

// checkFree refuses free JSON that exceeds a limit. what names the field.
func checkFree(pointer, what string, raw json.RawMessage) error {
	s := newScanner(context.Background(), raw)
	s.what, s.root = what, pointer
	s.scan()
	return s.stop
}

// fieldsOf returns the names that a command's body may have.
func fieldsOf(command any) []string { return formOf(command).fields }

// countsOfTypes holds the optional numbers of each command, each with the meaning of its absence: its absent tag.
var countsOfTypes = sync.OnceValue(func() map[reflect.Type]map[string]string {
	types := make(map[reflect.Type]map[string]string, len(makers()))
	for _, maker := range makers() {
		t := reflect.TypeOf(maker.empty()).Elem()
		types[t] = map[string]string{}
		for _, field := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if number := field.Type.Kind() == reflect.Int || field.Type.Kind() == reflect.Int64; number &&
				options == "omitempty" {
				types[t][name] = field.Tag.Get("absent")
			}
		}
	}
	return types
})

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

// fewNames is how many names of an object are compared one by one; for more, a map is used.
const fewNames = 16

// insideField is the depth of the values in a list or an object that a field of the body holds.
const insideField = 2

// checkCallerEvery is how many bytes the scanner reads between two checks whether the caller has left.
const checkCallerEvery = 32 << 10

// bodyScanner reads a JSON body once, front to back. It finds what encoding/json accepts: a name in the wrong case, a
// duplicate name at any depth, and half of a surrogate pair. It stops at the first limit that the body exceeds.
type bodyScanner struct {
	ctx context.Context
	b   []byte
	i   int
	// fields are the names that the body itself may have; nil for any.
	fields []string
	// pointers are the pointers of fields.
	pointers []string
	// counts are the fields that are optional numbers, each with the meaning of its absence.
	counts map[string]string
	// texts says which fields hold only texts, and inTexts that the scan is in one of them.
	texts   []bool
	inTexts bool
	// lax accepts other names, unless they differ from one of these only in case.
	lax bool
	// what and root name the document in refusals.
	what, root string

	depth  int
	values int
	// names are those of the open objects that have few, in one slice.
	names [][]byte
	// room is the initial space of names.
	room [8][]byte
	// found are the values of fields, and whole says that the body is a single value.
	found     []found
	foundRoom [8]found
	whole     bool
	// steps counts the work; tests compare it with the length of the body.
	steps int
	// nextCheck is where ctx is checked again.
	nextCheck int

	// fault is the first fault that encoding/json would accept.
	fault error
	// stop is why the scan ended early: a limit, or the caller has left.
	stop error
}

func newScanner(ctx context.Context, body []byte) *bodyScanner {
	s := &bodyScanner{
		ctx:       ctx,
		b:         body,
		what:      "the body",
		nextCheck: checkCallerEvery,
	}
	s.names, s.found = s.room[:0], s.foundRoom[:0]
	return s
}

// expect sets what the body may hold.
func (s *bodyScanner) expect(f *form) {
	s.fields, s.pointers, s.counts, s.texts = f.fields, f.pointers, f.counts, f.texts
}

// scan reads the whole body. It stops silently where the body is not JSON.
func (s *bodyScanner) scan() {
	ok := s.value(s.root)
	s.space()
	s.whole = ok && s.i == len(s.b)
}

func (s *bodyScanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
		s.steps++
	}
}

// next returns the current byte, or 0 at the end.
func (s *bodyScanner) next() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *bodyScanner) exceeds(l Limit, pointer string) bool {
	s.stop = l.exceeded(pointer, s.what, 0)
	return false
}

// unknown judges a name that is not one of fields.
func (s *bodyScanner) unknown(pointer, name string) {
	if !s.lax {
		s.faulty(pointer, "there is no field %q here", safetext.Printable(name))
		return
	}
	for _, field := range s.fields {
		if strings.EqualFold(field, name) {
			s.faulty(pointer, "there is no field %q here; write %q", safetext.Printable(name), field)
		}
	}
}

func (s *bodyScanner) faulty(pointer, format string, args ...any) {
	if s.fault == nil {
		s.fault = invalid(pointer, format, args...)
	}
}

// gone reports whether the caller has left.
func (s *bodyScanner) gone() bool {
	if s.i < s.nextCheck {
		return false
	}
	s.nextCheck = s.i + checkCallerEvery
	s.stop = s.ctx.Err()
	return s.stop != nil
}

// value reads one value. It reports whether the scan continues.
func (s *bodyScanner) value(pointer string) bool {
	s.space()
	s.steps++
	if s.values++; s.values > int(LimitValues.Value) {
		return s.exceeds(LimitValues, pointer)
	}
	if s.gone() {
		return false
	}
	switch s.next() {
	case '{':
		return s.nested(pointer, s.object)
	case '[':
		return s.nested(pointer, s.list)
	case '"':
		_, ok := s.text(pointer)
		return ok
	}
	start := s.i
	for s.i < len(s.b) && !isDelimiter(s.b[s.i]) {
		s.i++
		s.steps++
	}
	if s.i-start > int(LimitNumber.Value) {
		return s.exceeds(LimitNumber, pointer)
	}
	if s.inTexts && s.depth == insideField && string(s.b[start:s.i]) == "null" { // encoding/json makes it ""
		s.faulty(pointer, "%s holds null where a text belongs", nameOf(pointer))
	}
	return s.i > start
}

func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\n', '\t', '\r', ',', ']', '}', '{', '[', '"', ':':
		return true
	}
	return false
}

func (s *bodyScanner) nested(pointer string, walk func(pointer string) bool) bool {
	if s.depth++; s.depth > int(LimitDepth.Value) {
		return s.exceeds(LimitDepth, pointer)
	}
	if !walk(pointer) {
		return false
	}
	s.depth--
	return true
}

func (s *bodyScanner) list(pointer string) bool {
	s.i++
	if s.space(); s.next() == ']' {
		s.i++
		return true
	}
	for s.value(pointer) {
		s.space()
		switch s.next() {
		case ',':
			s.i++
		case ']':
			s.i++
			return true
		default:
			return false
		}
	}
	return false
}

func (s *bodyScanner) object(pointer string) bool {
	top := s.depth == 1 && s.fields != nil
	first, count := len(s.names), 0
	var many map[string]struct{}
	s.i++
	if s.space(); s.next() == '}' {
		s.i++
		return true
	}
	for {
		if s.space(); s.next() != '"' {
			return false
		}
		name, ok := s.text(pointer)
		if !ok {
			return false
		}
		if count++; count > int(LimitNames.Value) {
			return s.exceeds(LimitNames, pointer)
		}
		at, field := pointer, -1
		if top {
			at, field = s.field(name)
		}
		if s.repeats(first, &many, name) {
			s.faulty(at, "the field %q appears twice", safetext.Printable(string(name)))
		}
		if s.space(); s.next() != ':' {
			return false
		}
		s.i++
		s.space()
		from := s.i
		if top {
			s.inTexts = field >= 0 && field < len(s.texts) && s.texts[field]
		}
		if !s.value(at) {
			return false
		}
		if field >= 0 {
			s.found = append(s.found, found{field, from, s.i})
		}
		if top && len(s.counts) > 0 {
			s.count(at, string(name), s.b[from:s.i])
		}
		s.space()
		switch s.next() {
		case ',':
			s.i++
		case '}':
			s.i++
			s.names = s.names[:first]
			return true
		default:
			return false
		}
	}
}

// field returns the pointer and the index of a name of the body itself, and judges an unknown one.
func (s *bodyScanner) field(name []byte) (pointer string, at int) {
	s.steps += len(s.fields)
	i := slices.IndexFunc(s.fields, func(field string) bool { return field == string(name) })
	if i >= 0 && i < len(s.pointers) {
		return s.pointers[i], i
	}
	pointer = "/" + safetext.Printable(string(name))
	if i < 0 {
		s.unknown(pointer, string(name))
	}
	return pointer, i
}

// count refuses an optional number of 0: it would be taken for an absent number, and mean "never" or "no limit".
// Decisions refuse negative ones.
func (s *bodyScanner) count(pointer, name string, value []byte) {
	if absent, known := s.counts[name]; known && (string(value) == "0" || string(value) == "-0") {
		s.faulty(pointer, "%s must be at least 1, not 0; leave it out for %s", name, absent)
	}
}

// repeats reports whether the object whose names begin at first has this one already, and adds it. It compares a few
// names one by one and looks up many, so that its work does not grow with the number of names.
func (s *bodyScanner) repeats(first int, many *map[string]struct{}, name []byte) bool {
	if *many == nil {
		for _, known := range s.names[first:] {
			if s.steps++; string(known) == string(name) {
				return true
			}
		}
		if s.names = append(s.names, name); len(s.names)-first > fewNames {
			*many = make(map[string]struct{}, 4*fewNames)
			for _, known := range s.names[first:] {
				(*many)[string(known)] = struct{}{}
			}
		}
		return false
	}
	s.steps++
	if _, known := (*many)[string(name)]; known {
		return true
	}
	(*many)[string(name)] = struct{}{}
	return false
}

// text reads a string and returns its value.
func (s *bodyScanner) text(pointer string) ([]byte, bool) {
	start, escaped := s.i, false
	for s.i++; s.next() != '"'; s.i++ {
		s.steps++
		if s.i >= len(s.b) || s.gone() {
			return nil, false
		}
		if s.b[s.i] != '\\' {
			continue
		}
		escaped = true
		if s.i++; s.next() != 'u' {
			continue
		}
		pair, whole := surrogate(s.b[s.i-1:])
		if pair && !whole {
			s.faulty(pointer, "%s contains half of a surrogate pair, which is not a character", nameOf(pointer))
		}
		if pair && whole {
			s.i += 6
		}
		s.i += 4
	}
	s.i++
	if !escaped {
		return s.b[start+1 : s.i-1], true
	}
	s.steps += s.i - start
	var text string
	if json.Unmarshal(s.b[start:s.i], &text) != nil {
		return nil, false
	}
	return []byte(text), true
}

// surrogate reports whether an escape is part of a surrogate pair, and whether the pair is complete and begins there.
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

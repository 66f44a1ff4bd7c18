package manifest

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"maestro/events"
	"maestro/internal/safetext"
)

// The limits of a document (docs/limits.md).
const (
	MaxSize  = events.MaxLongText
	MaxDepth = 512
)

// scanner reads JSON once, front to back, without building a tree. A method returns false if the document is not JSON,
// and leaves the error in broken; nothing is read after that. Faults of a valid JSON document are added to faults.
type scanner struct {
	document []byte
	at       int
	depth    int
	path     []step
	// names are the members so far of the open objects, in one slice.
	names  []string
	faults faultList
	broken string
}

func (s *scanner) fault(at int, format string, args ...any) {
	s.faults.add(at, func() string { return pointerOf(s.path) }, func() string { return fmt.Sprintf(format, args...) })
}

// faultAs adds a fault whose text is expensive: it is only created if the fault is kept.
func (s *scanner) faultAs(at int, message func() string) {
	s.faults.add(at, func() string { return pointerOf(s.path) }, message)
}

// faultAtMember adds a fault of a member of the current object.
func (s *scanner) faultAtMember(at int, name, format string, args ...any) {
	s.path = append(s.path, step{name, -1})
	s.fault(at, format, args...)
	s.path = s.path[:len(s.path)-1]
}

// breaks records the line and column where the document is no longer JSON.
func (s *scanner) breaks(at int, format string, args ...any) bool {
	before := s.document[:at]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	s.broken = fmt.Sprintf("line %d, column %d: ", line, column) + fmt.Sprintf(format, args...)
	return false
}

// unexpected calls breaks with what was found and what was expected.
func (s *scanner) unexpected(expected string) bool {
	if s.at >= len(s.document) {
		return s.breaks(s.at, "the document ends where %s is expected", expected)
	}
	r, _ := utf8.DecodeRune(s.document[s.at:])
	return s.breaks(s.at, "%s is expected, not %s", expected, strconv.QuoteRune(r))
}

func (s *scanner) space() {
	for s.at < len(s.document) {
		switch s.document[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next returns the current byte, or 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.document) {
		return s.document[s.at]
	}
	return 0
}

func (s *scanner) enter() bool {
	if s.depth++; s.depth > MaxDepth {
		return s.breaks(s.at, "nested deeper than %d", MaxDepth)
	}
	return true
}

// object reads an object; member is called at each value, and has to read it. The second of two members with the same
// name is a fault, and skipped.
func (s *scanner) object(member func(name string, at int) bool) bool {
	if !s.enter() {
		return false
	}
	first := len(s.names)
	var many map[string]struct{}
	s.at++
	s.space()
	for more := s.next() != '}'; more; {
		s.space()
		at := s.at
		if s.next() != '"' {
			return s.unexpected("a name in double quotes")
		}
		name, whole, ok := s.text(true)
		if !ok {
			return false
		}
		s.space()
		if s.next() != ':' {
			return s.unexpected("':'")
		}
		s.at++
		s.space()
		s.path = append(s.path, step{name, -1})
		read := member
		if !whole {
			s.fault(at, "the name contains half of a surrogate pair, which is not a character")
		}
		if s.repeats(first, &many, name) {
			s.fault(at, "the name appears twice; remove one")
			read = func(string, int) bool { return s.skip() }
		}
		if !read(name, at) {
			return false
		}
		s.path = s.path[:len(s.path)-1]
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case '}':
			more = false
		default:
			return s.unexpected("',' or '}'")
		}
	}
	s.at++
	s.names = s.names[:first]
	s.depth--
	return true
}

// repeats reports whether the object whose names begin at first has this one already, and adds it. It scans few names
// and looks up many.
func (s *scanner) repeats(first int, many *map[string]struct{}, name string) bool {
	const few = 16
	if *many == nil {
		for _, known := range s.names[first:] {
			if known == name {
				return true
			}
		}
		if s.names = append(s.names, name); len(s.names)-first > few {
			*many = make(map[string]struct{}, 2*few)
			for _, known := range s.names[first:] {
				(*many)[known] = struct{}{}
			}
		}
		return false
	}
	if _, known := (*many)[name]; known {
		return true
	}
	(*many)[name] = struct{}{}
	return false
}

// list reads a list; item is called at each item, and has to read it.
func (s *scanner) list(item func(i int) bool) bool {
	if !s.enter() {
		return false
	}
	s.at++
	s.space()
	s.path = append(s.path, step{index: 0})
	place := len(s.path) - 1
	for more := s.next() != ']'; more; s.path[place].index++ {
		s.space()
		if !item(s.path[place].index) {
			return false
		}
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case ']':
			more = false
		default:
			return s.unexpected("',' or ']'")
		}
	}
	s.at++
	s.path = s.path[:place]
	s.depth--
	return true
}

// text reads a string. It only allocates the string if it is kept. whole is false if an escape in it is half of a
// surrogate pair.
func (s *scanner) text(keep bool) (text string, whole, ok bool) {
	start := s.at
	s.at++
	from := s.at
	var made []byte
	escaped := false
	whole = true
	for {
		if s.at >= len(s.document) {
			return "", false, s.breaks(start, "the text that begins here has no end")
		}
		switch c := s.document[s.at]; {
		case c == '"':
			end := s.at
			s.at++
			switch {
			case !keep:
				return "", whole, true
			case !escaped:
				return string(s.document[from:end]), whole, true
			}
			return string(append(made, s.document[from:end]...)), whole, true
		case c < ' ':
			return "", false, s.breaks(s.at, "a control character in a text must be escaped, as \\u%04x", c)
		case c == '\\':
			escaped = true
			if keep {
				made = append(made, s.document[from:s.at]...)
			}
			r, good := s.escape()
			if !good {
				return "", false, false
			}
			if r < 0 {
				whole, r = false, utf8.RuneError
			}
			if keep {
				made = utf8.AppendRune(made, r)
			}
			from = s.at
		default:
			s.at++
		}
	}
}

// escape reads an escape, or a surrogate pair as one. Half of a pair is -1.
func (s *scanner) escape() (rune, bool) {
	if s.at+1 >= len(s.document) {
		return 0, s.breaks(s.at, "the document ends within an escape")
	}
	c := s.document[s.at+1]
	switch c {
	case '"', '\\', '/':
		s.at += 2
		return rune(c), true
	case 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return rune("\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)]), true
	case 'u':
		r, ok := s.hex(s.at)
		if !ok {
			return 0, s.breaks(s.at, "\\u must be followed by four hexadecimal digits")
		}
		s.at += 6
		if !utf16.IsSurrogate(r) {
			return r, true
		}
		if low, ok := s.hex(s.at); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				s.at += 6
				return pair, true
			}
		}
		return -1, true
	}
	return 0, s.breaks(s.at, "there is no escape \\%s; a backslash is written \\\\",
		safetext.Printable(string(rune(c))))
}

// hex reads an escape of four hexadecimal digits, including \u, at an offset.
func (s *scanner) hex(at int) (rune, bool) {
	if at+6 > len(s.document) || s.document[at] != '\\' || s.document[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.document[at+2:at+6]), 16, 16)
	return rune(n), err == nil
}

// number reads a number and returns its text.
func (s *scanner) number() (string, bool) {
	start := s.at
	if s.next() == '-' {
		s.at++
	}
	if s.next() == '0' {
		s.at++
		if c := s.next(); c >= '0' && c <= '9' {
			return "", s.breaks(start, "a number must not begin with a zero")
		}
	} else if !s.digits() {
		return "", s.unexpected("a digit")
	}
	if s.next() == '.' {
		s.at++
		if !s.digits() {
			return "", s.unexpected("a digit")
		}
	}
	if c := s.next(); c == 'e' || c == 'E' {
		s.at++
		if c := s.next(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return "", s.unexpected("a digit")
		}
	}
	return string(s.document[start:s.at]), true
}

func (s *scanner) digits() bool {
	start := s.at
	for c := s.next(); c >= '0' && c <= '9'; c = s.next() {
		s.at++
	}
	return s.at > start
}

func (s *scanner) word(word string) bool {
	if !bytes.HasPrefix(s.document[s.at:], []byte(word)) {
		return s.unexpected("a value")
	}
	s.at += len(word)
	return true
}

// skip reads a value and only checks that it is JSON.
func (s *scanner) skip() bool {
	switch s.next() {
	case '{':
		return s.object(func(string, int) bool { return s.skip() })
	case '[':
		return s.list(func(int) bool { return s.skip() })
	case '"':
		at := s.at
		_, whole, ok := s.text(false)
		if ok && !whole {
			s.fault(at, "contains half of a surrogate pair, which is not a character")
		}
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, ok := s.number()
		return ok
	}
	return s.unexpected("a value")
}

package blank

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
)

// mark replaces a secret.
const mark = "[blanked]"

// minSecret is the length from which on a value is a secret: shorter ones occur by accident.
const minSecret = 8

// secretWords are parts of the names of variables whose values are secret.
var secretWords = []string{
	"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE", "AUTH", "COOKIE", "DSN",
}

// SecretName reports whether a variable with the name holds a secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// Secrets are what is replaced. They do not change, and may be used by several goroutines.
type Secrets struct {
	forms [256][]string // by their first byte, the longest first
}

// Of returns the secrets with these values. It ignores values of less than 8 bytes. Of a value with several lines, each
// line is a secret, too: text is looked at line by line.
func Of(values ...string) *Secrets {
	s := &Secrets{}
	for _, value := range values {
		s.add(value)
		for line := range strings.SplitSeq(value, "\n") {
			s.add(line)
		}
	}
	for _, list := range s.forms {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return s
}

func (s *Secrets) add(value string) {
	if len(value) < minSecret {
		return
	}
	for _, form := range forms(value) {
		if first := form[0]; !slices.Contains(s.forms[first], form) {
			s.forms[first] = append(s.forms[first], form)
		}
	}
}

// forms returns a value as it is, in JSON, in JSON that is a text in JSON, and in a URL.
func forms(value string) (all []string) {
	all = append(all, value, url.QueryEscape(value), url.PathEscape(value))
	escaped := []string{value}
	for range 2 {
		for _, text := range escaped {
			escaped = append(escaped, inJSON(text, false), inJSON(text, true))
		}
	}
	return append(all, escaped...)
}

func inJSON(text string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
}

// Blank returns the text without secrets.
func (s *Secrets) Blank(text string) string {
	var out strings.Builder
	w := s.Writer(&out)
	_, _ = io.WriteString(w, text) // a Builder accepts everything
	_ = w.Close()
	return out.String()
}

// Writer returns a writer that writes to w without secrets. It writes a line as soon as the line is complete, and
// holds back the rest until Close, or until there is more than a quarter of a megabyte of it. What it writes does not
// depend on how the text was divided among calls of Write.
func (s *Secrets) Writer(w io.Writer) *Writer { return &Writer{to: w, secrets: s} }

// Writer replaces secrets in what is written to it. It is not safe for concurrent use.
type Writer struct {
	to      io.Writer
	secrets *Secrets
	held    []byte // an unfinished line, or the end of its part
	before  byte   // of the text before held, in the same line
	key     int    // lines of a private key that began before, 0 if none did
}

const (
	// maxHeld bounds the part of a line that is held. A longer line is written in parts.
	maxHeld = 256 << 10
	// maxMatch bounds the length of a secret: that much is held back of a part, so that no secret is divided.
	maxMatch = 16 << 10
)

// Write implements io.Writer. It returns the length of p, unless the writer below fails.
func (w *Writer) Write(p []byte) (int, error) {
	total := len(p)
	var out []byte
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		whole := end > 0
		if !whole {
			end = len(p)
		}
		if room := maxHeld - len(w.held); end > room {
			end, whole = room, false
		}
		w.held = append(w.held, p[:end]...)
		p = p[end:]
		switch {
		case whole:
			out = w.part(out, true)
		case len(w.held) >= maxHeld:
			out = w.part(out, false)
		}
	}
	if len(out) == 0 {
		return total, nil
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return total, nil
}

// Close writes what was held back. It does not close the writer below.
func (w *Writer) Close() error {
	out := w.part(nil, true)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// part appends what is held, without secrets. Unless it is the last part of its line, it holds back the end.
func (w *Writer) part(out []byte, last bool) []byte {
	text := w.held
	at := w.keyPart(text, last)
	if at > 0 {
		out = append(out, mark...)
	}
	until := len(text)
	if !last {
		until -= maxMatch
	}
	for at < until {
		n := w.secrets.match(text, at, w.before)
		if n == 0 {
			out = append(out, text[at])
			n = 1
		} else {
			out = append(out, mark...)
		}
		at += n
	}
	switch {
	case last:
		w.before = 0
	case at > 0:
		w.before = text[at-1]
	}
	w.held = append(w.held[:0], text[at:]...)
	return out
}

// match returns the length of the secret that begins at a place of the text, 0 if there is none.
func (s *Secrets) match(text []byte, at int, before byte) int {
	for _, form := range s.forms[text[at]] {
		if bytes.HasPrefix(text[at:], []byte(form)) {
			return len(form)
		}
	}
	if text[at] == '-' {
		return privateKey(text[at:])
	}
	if strings.IndexByte(firsts, text[at]) < 0 || within(text, at, before) {
		return 0
	}
	return token(text[at:])
}

// within reports whether the place is in the middle of a word. The letter of an escape, as in \n, is not part of one.
func within(text []byte, at int, before byte) bool {
	if at > 0 {
		before = text[at-1]
	}
	if !letter(before) && before != '_' {
		return false
	}
	return at < 2 || text[at-2] != '\\' || !strings.ContainsRune("nrtbf", rune(before))
}

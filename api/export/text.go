package export

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"maestro/events"
	"maestro/internal/syntax"
)

// textStart and endStart are the prefixes of the lines after the events: with texts, one line for each text that an
// event of the export names, and a last line, which says where the log ended. Earlier versions wrote the last line only
// with texts.
const (
	textStart = `{"text":`
	endStart  = `{"end":`
)

// Text is a line with a long text. It has either Content, Lost or Redacted.
type Text struct {
	// Digest is that of the content, "sha256-<64 hex>".
	Digest  string `json:"text"`
	Content []byte `json:"content,omitempty"`
	// Lost says why the server does not have the content.
	Lost string `json:"lost,omitempty"`
	// Redacted says that the text was redacted. It is only in the export of a project, which withholds the event.
	Redacted bool `json:"redacted,omitempty"`
}

// End is the last line of an export.
type End struct {
	// Head is the last event's, Texts the number of lines with a text; nil if the export was made without texts.
	Head  events.Head `json:"end"`
	Texts *int        `json:"texts,omitempty"`
}

// IsText and IsEnd report whether a line is one of those that follow the events.
func IsText(line []byte) bool { return bytes.HasPrefix(line, []byte(textStart)) }

// IsEnd is described with [IsText].
func IsEnd(line []byte) bool { return bytes.HasPrefix(line, []byte(endStart)) }

// AppendText appends the line of a text, with its line break.
func AppendText(b []byte, digest string, content []byte) []byte {
	b = append(append(b, textStart...), appendJSON(nil, digest)...)
	b = append(b, `,"content":"`...)
	b = base64.StdEncoding.AppendEncode(b, content)
	return append(b, '"', '}', '\n')
}

// AppendLost appends the line of a text that the server has lost.
func AppendLost(b []byte, digest, why string) []byte {
	return append(append(b, appendJSON(nil, Text{Digest: digest, Lost: why})...), '\n')
}

// AppendRedacted appends the line of a text that was redacted.
func AppendRedacted(b []byte, digest string) []byte {
	return append(append(b, appendJSON(nil, Text{Digest: digest, Redacted: true})...), '\n')
}

// AppendEnd appends the last line.
func AppendEnd(b []byte, end End) []byte { return append(append(b, appendJSON(nil, end)...), '\n') }

// ReadText parses the line of a text, and compares the content with its digest.
func ReadText(line []byte) (Text, error) {
	var t Text
	if err := readWhole(line, &t); err != nil {
		return t, fmt.Errorf("not a long text: %w", err)
	}
	hash, sha := strings.CutPrefix(t.Digest, events.DigestPrefix)
	said, err := events.ParseHash(hash)
	switch {
	case !sha || err != nil:
		return t, errors.New("not a long text: it has no digest")
	case t.Lost != "", t.Redacted:
		return t, nil
	case events.BodyHash(t.Content) != said:
		return t, fmt.Errorf("the long text %s was changed: its digest is %s%s",
			t.Digest, events.DigestPrefix, events.BodyHash(t.Content))
	}
	return t, nil
}

// ReadEnd parses the last line.
func ReadEnd(line []byte) (End, error) {
	var end End
	if err := readWhole(line, &end); err != nil {
		return end, fmt.Errorf("not the end of an export: %w", err)
	}
	return end, nil
}

// Unnamed is the fault of a text that no event of a whole export names, or that none of its events redacts.
func Unnamed(t Text) error {
	if t.Redacted {
		return fmt.Errorf("no event redacts the long text %s", t.Digest)
	}
	return fmt.Errorf("no event names the long text %s", t.Digest)
}

// Events returns what a reader has of an export, without the long texts. If the export has texts and no last line, it
// is cut short, which is the reader's error.
func Events(r io.Reader) io.Reader {
	return &eventLines{in: bufio.NewReaderSize(r, 64<<10), begins: true}
}

type eventLines struct {
	in *bufio.Reader
	// begins says that a line begins, skips that it is left out, cut that the last line has yet to come.
	begins, skips, cut bool
}

func (e *eventLines) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if e.begins {
			first, _ := e.in.Peek(max(len(textStart), len(endStart)))
			e.begins, e.skips = false, IsText(first)
			e.cut = (e.cut || e.skips) && !IsEnd(first)
		}
		if _, err := e.in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && e.cut {
				return 0, errCut
			}
			return 0, err
		}
		part, _ := e.in.Peek(min(e.in.Buffered(), len(p)))
		if end := bytes.IndexByte(part, '\n'); end >= 0 {
			part, e.begins = part[:end+1], true
		}
		n := len(part)
		if !e.skips {
			copy(p, part)
		}
		if _, err := e.in.Discard(n); err != nil || !e.skips {
			return n, err
		}
	}
	return 0, nil
}

func readWhole(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return syntax.Plain(err)
	}
	if len(bytes.TrimSpace(line[decoder.InputOffset():])) > 0 {
		return errors.New("something follows the object")
	}
	return nil
}

// rest verifies the lines after the events. Both readers of a whole export share it.
type rest struct {
	// began says that a line after the events was read, ended that the last one was.
	began, ended bool
	texts        int
	// holdsTexts says that the export was made with texts, even if there are none.
	holdsTexts bool
}

// errAfter is the fault of an event after the texts, errCut that of an export with texts whose end is missing.
var (
	errAfter = errors.New("an event, or another text, follows the end of the log")
	errCut   = errors.New("it is cut short: the last line, which says where the log ended, is missing")
)

// takes reports whether a line is one of the lines after the events. The error is a fault of the line.
func (r *rest) takes(line []byte, head events.Head, text func(Text) error) (taken bool, err error) {
	switch {
	case r.ended, r.began && !IsText(line) && !IsEnd(line):
		return true, errAfter
	case IsText(line):
		r.began, r.holdsTexts = true, true
		r.texts++
		t, err := ReadText(line)
		if err != nil {
			return true, err
		}
		return true, text(t)
	case IsEnd(line):
		r.began, r.ended = true, true
		end, err := ReadEnd(line)
		switch {
		case err != nil:
			return true, err
		case end.Head != head:
			return true, fmt.Errorf("it says that the log ended at %s, and the last event here is at %s",
				end.Head, head)
		case end.Texts == nil && r.texts > 0:
			return true, fmt.Errorf("it says that there are no long texts, and there are %d", r.texts)
		case end.Texts != nil && *end.Texts != r.texts:
			return true, fmt.Errorf("it says that there are %d long texts, and there are %d", *end.Texts, r.texts)
		}
		r.holdsTexts = r.holdsTexts || end.Texts != nil
		return true, nil
	}
	return false, nil
}

// cut returns the fault of an export that ends too early.
func (r *rest) cut() error {
	if r.began && !r.ended {
		return errCut
	}
	return nil
}

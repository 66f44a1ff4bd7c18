package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"maestro/events"
)

// Texts yields those long texts of an export that are wanted, and returns how many it holds. It leaves everything else
// of the file unread, and what is not as its digest says out: the digest proves a text, whatever else was changed.
func Texts(r io.Reader, wanted func(digest string) bool, yield func(content []byte) error) (held int, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return held, fmt.Errorf("read the export: %w", err)
		}
		if digest := contentOf(line); digest != "" {
			held++
			if wanted(digest) {
				if t, bad := ReadText(line); bad == nil {
					if err := yield(t.Content); err != nil {
						return held, err
					}
				}
			}
		}
		if err != nil {
			return held, nil
		}
	}
}

// contentOf returns the digest of the text whose content a line has, "" for another line.
func contentOf(line []byte) string {
	const size = len(events.DigestPrefix) + 64
	rest, isText := bytes.CutPrefix(line, []byte(textStart+`"`))
	if !isText || len(rest) < size || !bytes.HasPrefix(rest[size:], []byte(`","content":"`)) {
		return ""
	}
	return string(rest[:size])
}

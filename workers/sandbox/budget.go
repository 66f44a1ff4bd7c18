package sandbox

import (
	"errors"
	"io"
	"runtime"
	"strings"
)

// The bounds of one judgement. A line that exceeds one of them cannot be evaluated.
const (
	maxLine   = 1 << 20 // bytes of a line, and of each text that a shell is given
	maxText   = 1 << 18 // bytes of one evaluated text
	maxBytes  = 1 << 24 // bytes of all evaluated texts together
	maxSteps  = 20_000  // statements and words
	maxDepth  = 120     // nested statements, words and calls
	maxFields = 4_096   // words that one word becomes
	maxBraces = 64      // brace expansions in one word
	maxFrames = 1_500   // of the parser's stack, looked at once for each kilobyte
)

// enter counts one step down. It returns false if the judgement is over; leave follows only after true.
func (j *judge) enter() bool {
	j.steps++
	if j.verdict != nil {
		return false
	}
	if j.steps > maxSteps || j.depth >= maxDepth {
		j.blocks(RuleUnknown, "The line nests too deeply or takes too many steps to be evaluated. "+
			"Split it into several simple commands.")
		return false
	}
	j.depth++
	return true
}

func (j *judge) leave() { j.depth-- }

// spend counts evaluated bytes. It returns false if there are too many.
func (j *judge) spend(n int) bool {
	j.bytes += n
	if n > maxText || j.bytes > maxBytes {
		j.blocks(RuleUnknown, "The line evaluates to more text than can be judged. Use shorter texts.")
		return false
	}
	return j.verdict == nil
}

// kept returns a text if it is within the bounds.
func (j *judge) kept(s string) string {
	if !j.spend(len(s)) {
		return unknown
	}
	return s
}

// spendParsed counts the bytes that are parsed: a text may be parsed again in each round of a loop.
func (j *judge) spendParsed(n int) bool {
	j.bytes += n
	return j.bytes <= maxBytes
}

var errNested = errors.New("nested too deeply")

// shallow reads a text for the parser, which is recursive: it fails when the parser's stack is deep. The parser reads
// one kilobyte at a time, and a kilobyte cannot nest deeply enough to exhaust the stack.
type shallow struct{ text *strings.Reader }

func (s shallow) Read(to []byte) (int, error) {
	var frame [1]uintptr
	if s.text.Size() > 1024 && runtime.Callers(maxFrames, frame[:]) > 0 {
		return 0, errNested
	}
	return io.LimitReader(s.text, 1024).Read(to)
}

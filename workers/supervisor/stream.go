package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/workers/agent"
)

const (
	// maxLine bounds a line that is read; the file gets longer ones too.
	maxLine = 8 << 20
	// lastOutput is how much of what the agent said last is kept for the record of its exit.
	lastOutput = 4 << 10
)

// stream reads the output of one launch: the file gets all of it, with secrets blanked, and the reader sees its lines.
type stream struct {
	reader agent.Reader
	file   io.Writer
	see    func(agent.Observation)

	mu   sync.Mutex
	said string
	end  *agent.Ended
	// conversation and model are those that the agent named.
	conversation string
}

// copy reads until the output ends. What cannot be written to the file is an error; the output is then read to its end
// all the same, because the agent would block.
func (s *stream) copy(from io.Reader) error {
	var failed error
	lines := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	cut := false
	for {
		part, err := lines.ReadSlice('\n')
		if len(part) > 0 && failed == nil {
			if _, failed = s.file.Write(part); failed != nil {
				failed = fmt.Errorf("write the agent's output: %w", failed)
			}
		}
		if cut = cut || len(line)+len(part) > maxLine; !cut {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil || len(line) > 0:
			if !cut {
				s.read(line)
			}
			line, cut = line[:0], false
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed = errors.Join(failed, err)
			}
			return failed
		}
	}
}

func (s *stream) read(line []byte) {
	text := strings.TrimRight(string(line), "\r\n")
	for _, o := range s.reader.Read([]byte(text)) {
		s.note(o)
		s.see(o)
	}
}

func (s *stream) note(o agent.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case agent.Began:
		if o.Conversation != "" {
			s.conversation = o.Conversation
		}
	case agent.Said:
		s.said = o.Text
	case agent.Ended:
		s.end = &o
	}
}

// last returns what the agent said last, cut to the end of it.
func (s *stream) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return safetext.Shorten(events.Ending(s.said, lastOutput), lastOutput)
}

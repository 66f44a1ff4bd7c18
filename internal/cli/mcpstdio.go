package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/commands"
)

// stdio is the transport of the Model Context Protocol over a pair of streams: one message a line. In contrast to the
// SDK's, it answers a line that is no message, and reads on; and when the input ends, it first answers what was asked.
type stdio struct {
	in  io.Reader
	out io.Writer

	lines  chan []byte
	closed chan struct{}
	once   sync.Once

	mu sync.Mutex
	// open is the number of requests without an answer. idle is closed once there are none and the input has ended.
	open  int
	ended bool
	idle  chan struct{}
}

// longestMessage bounds a message, without the end of its line. The server takes no longer ones either.
const longestMessage = commands.MaxRequest

func newStdio(in io.Reader, out io.Writer) *stdio {
	return &stdio{
		in:     in,
		out:    out,
		lines:  make(chan []byte),
		closed: make(chan struct{}),
		idle:   make(chan struct{}),
	}
}

// Connect implements sdk.Transport.
func (s *stdio) Connect(context.Context) (sdk.Connection, error) {
	go s.receive()
	return s, nil
}

// receive reads the lines. Its goroutine ends with the input: a read of stdin cannot be interrupted.
func (s *stdio) receive() {
	defer close(s.lines)
	in := bufio.NewReaderSize(s.in, 64<<10)
	for {
		line, err := s.line(in)
		if len(line) > 0 {
			select {
			case s.lines <- line:
			case <-s.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// line reads a line. It drops one that is too long, and answers it.
func (s *stdio) line(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimRight(part, "\r\n")) > longestMessage; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			s.refuse(jsonrpc.CodeInvalidRequest, "a message has at most 1 MiB; shorten it, or split it")
		}
		return line, err
	}
}

// refuse answers what is no message. Its id is unknown.
func (s *stdio) refuse(code int, message string) {
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	text, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, message}})
	if err == nil {
		_ = s.send(text) // a reader that is gone needs no answer
	}
}

func (s *stdio) send(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(append(text, '\n'))
	return err
}

// Read implements sdk.Connection.
func (s *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.closed:
			return nil, io.EOF
		case line, more := <-s.lines:
			if !more {
				return nil, s.rest(ctx)
			}
			if message := s.message(line); message != nil {
				return message, nil
			}
		}
	}
}

// message decodes a line; nil if it is none.
func (s *stdio) message(line []byte) jsonrpc.Message {
	if len(bytes.TrimRight(line, "\n\r ")) == 0 {
		return nil
	}
	if !json.Valid(line) {
		s.refuse(jsonrpc.CodeParseError, "the line is not JSON; a message is one line of JSON")
		return nil
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		s.refuse(jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC 2.0 message; send one message a line")
		return nil
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.ID.IsValid() {
		s.mu.Lock()
		s.open++
		s.mu.Unlock()
	}
	return message
}

// rest waits for the answers to what was asked before the input ended.
func (s *stdio) rest(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	s.endIfIdle()
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-s.closed:
	case <-ctx.Done():
	}
	return io.EOF
}

// endIfIdle says that everything is answered. The caller holds mu.
func (s *stdio) endIfIdle() {
	if s.ended && s.open <= 0 {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}

// Write implements sdk.Connection.
func (s *stdio) Write(_ context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	err = s.send(text)
	if _, answers := message.(*jsonrpc.Response); answers {
		s.mu.Lock()
		s.open--
		s.endIfIdle()
		s.mu.Unlock()
	}
	return err
}

// Close implements sdk.Connection.
func (s *stdio) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// SessionID implements sdk.Connection: the process is the session.
func (s *stdio) SessionID() string { return "" }

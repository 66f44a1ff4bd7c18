package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"maestro/events"
)

const (
	directGet = "$JS.API.DIRECT.GET." + StreamName
	leaderGet = "$JS.API.STREAM.MSG.GET." + StreamName
	// pageMessages and pageBytes bound the reply to one request.
	pageMessages = 512
	pageBytes    = 2 << 20
)

// errMissing: the server has no message at that sequence.
var errMissing = errors.New("no such message")

// readers keeps idle readers, so that a read does not create a subscription.
type readers struct {
	nc *nats.Conn

	mu     sync.Mutex
	idle   []*reader
	closed bool
}

const idleReaders = 8

func newReaders(nc *nats.Conn) *readers { return &readers{nc: nc} }

func (p *readers) take() (*reader, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		r := p.idle[last]
		p.idle = p.idle[:last]
		return r, nil
	}
	return newReader(p.nc)
}

func (p *readers) give(r *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == idleReaders {
		r.close()
		return
	}
	p.idle = append(p.idle, r)
}

func (p *readers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.idle {
		r.close()
	}
	p.idle = nil
}

// reader makes one request after another on its own inbox.
type reader struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	answers chan *nats.Msg
	inbox   string
	number  uint64
	timer   *time.Timer
	request []byte
}

func newReader(nc *nats.Conn) (*reader, error) {
	r := &reader{
		nc:      nc,
		answers: make(chan *nats.Msg, pageMessages+16),
		inbox:   nc.NewInbox() + ".",
		timer:   time.NewTimer(0),
	}
	sub, err := nc.ChanSubscribe(r.inbox+"*", r.answers)
	if err != nil {
		return nil, fmt.Errorf("subscribe to read the log: %w", err)
	}
	r.sub = sub
	return r, nil
}

func (r *reader) close() { _ = r.sub.Unsubscribe() }

// direct asks any replica for the messages from next to to, as many as fit in one page. The server silently omits those
// that it cannot find.
func (r *reader) direct(ctx context.Context, next, to uint64, timeout time.Duration) ([]events.Message, error) {
	want := int(min(to-next+1, pageMessages)) //nolint:gosec // at most a page
	r.request = append(r.request[:0], `{"seq":`...)
	r.request = strconv.AppendUint(r.request, next, 10)
	if want > 1 {
		r.request = append(r.request, `,"batch":`...)
		r.request = strconv.AppendInt(r.request, int64(want), 10)
		r.request = append(r.request, `,"max_bytes":`...)
		r.request = strconv.AppendInt(r.request, pageBytes, 10)
	}
	r.request = append(r.request, '}')
	reply, err := r.ask(directGet)
	if err != nil {
		return nil, err
	}
	page := make([]events.Message, 0, want)
	r.timer.Reset(timeout)
	defer r.timer.Stop()
	for len(page) < want {
		answer, err := r.answer(ctx, reply, timeout)
		if err != nil {
			return nil, err
		}
		switch status := answer.Header.Get("Status"); status {
		case "":
			m, err := directMessage(answer)
			if err != nil {
				return nil, err
			}
			page = append(page, m)
		case "204", "404":
			return page, nil
		default:
			return nil, fmt.Errorf("read the log at sequence %d: the server answers %s %s", next, status,
				answer.Header.Get("Description"))
		}
	}
	return page, nil
}

// ask sends the request and returns the subject of its replies.
func (r *reader) ask(subject string) (reply string, err error) {
	r.number++
	reply = r.inbox + strconv.FormatUint(r.number, 36)
	if err := r.nc.PublishRequest(subject, reply, r.request); err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	return reply, nil
}

// answer waits for the next reply to a request, and drops replies to earlier ones.
func (r *reader) answer(ctx context.Context, reply string, timeout time.Duration) (*nats.Msg, error) {
	for {
		select {
		case answer, ok := <-r.answers:
			if !ok {
				return nil, fmt.Errorf("read the log: %w", nats.ErrConnectionClosed)
			}
			if answer.Subject == reply {
				return answer, nil
			}
		case <-r.timer.C:
			return nil, fmt.Errorf("read the log: no answer within %s", timeout)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// directMessage reads the sequence and the subject from the headers that a direct get adds. They come last: the stored
// message may have headers of the same name.
func directMessage(m *nats.Msg) (events.Message, error) {
	sequence, err := strconv.ParseUint(last(m.Header["Nats-Sequence"]), 10, 64)
	if err != nil {
		return events.Message{}, fmt.Errorf("read the log: an answer without a sequence: %w", err)
	}
	return events.Message{Sequence: sequence, Subject: last(m.Header["Nats-Subject"]), Body: m.Data}, nil
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// fromLeader asks the stream's leader for one message.
func (r *reader) fromLeader(ctx context.Context, sequence uint64, timeout time.Duration) (events.Message, error) {
	r.request = append(r.request[:0], `{"seq":`...)
	r.request = strconv.AppendUint(r.request, sequence, 10)
	r.request = append(r.request, '}')
	reply, err := r.ask(leaderGet)
	if err != nil {
		return events.Message{}, err
	}
	r.timer.Reset(timeout)
	defer r.timer.Stop()
	answer, err := r.answer(ctx, reply, timeout)
	if err != nil {
		return events.Message{}, err
	}
	var got struct {
		Error   *apiError `json:"error"`
		Message struct {
			Subject  string `json:"subject"`
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return events.Message{}, fmt.Errorf("read the log at sequence %d: %w", sequence, err)
	}
	if got.Error != nil {
		if got.Error.Code == codeNotFound {
			return events.Message{}, errMissing
		}
		return events.Message{}, fmt.Errorf("read the log at sequence %d: %s (%d)", sequence, got.Error.Description,
			got.Error.Code)
	}
	if got.Message.Sequence != sequence {
		return events.Message{}, errMissing
	}
	return events.Message{Sequence: sequence, Subject: got.Message.Subject, Body: got.Message.Data}, nil
}

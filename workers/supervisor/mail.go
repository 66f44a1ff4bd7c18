package supervisor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/mail"
)

const (
	// mailWait is how long one call waits for mail.
	mailWait = 25 * time.Second
	// settlesWithin is how long a command of the agent waits until the server knows which mail the agent has.
	settlesWithin = 3 * time.Second
	// readAgain is when the mail is looked at again while some of it is unread.
	readAgain = 3 * time.Second
)

// mailbox has the session's unread mail, which the agent gets with its next tool call.
type mailbox struct {
	calls   *calls
	session string
	logger  *slog.Logger
	// ended is called when the session may have ended; over is closed when it has: then there is no mail to ask for.
	ended func(ctx context.Context)
	over  <-chan struct{}

	mu     sync.Mutex
	unread []wire.Mail
	// shown are the ids that were given to the agent; the server is told until it knows.
	shown map[string]bool
	// reserved are the questions that the supervisor asked in the session's name: their answers are not for the agent.
	reserved map[string]bool
	// changed is closed when mail comes.
	changed chan struct{}
	// giving counts the times that the agent is being given mail; given is closed when that is over.
	giving int
	given  chan struct{}
}

func newMailbox(
	c *calls, session string, logger *slog.Logger, ended func(context.Context), over <-chan struct{},
) *mailbox {
	return &mailbox{
		calls:    c,
		session:  session,
		logger:   logger,
		ended:    ended,
		over:     over,
		shown:    map[string]bool{},
		reserved: map[string]bool{},
		changed:  make(chan struct{}),
		given:    make(chan struct{}),
	}
}

// run follows the mail until ctx ends.
func (m *mailbox) run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		var box wire.Mailbox
		err := m.calls.until(ctx, func(ctx context.Context) (err error) {
			box, err = m.calls.session.AwaitMail(ctx, m.session, mailWait)
			return err
		})
		wait := time.Duration(0)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.ended(ctx)
			wait = longWait
		case len(box.Mail) == 0 && time.Since(began) < mailWait/2:
			m.ended(ctx)
			wait = time.Second
		case len(box.Mail) > 0:
			m.came(box.Mail)
			wait = readAgain
		}
		if m.isOver() {
			return
		}
		if wait > 0 {
			select {
			case <-m.calls.after(wait):
			case <-m.over:
				return
			case <-ctx.Done():
				return
			}
			// The session may have ended meanwhile. To ask for its mail then is refused, and recorded in its name.
			if m.ended(ctx); m.isOver() {
				return
			}
		}
	}
}

// isOver reports whether the session has ended.
func (m *mailbox) isOver() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// came replaces the unread mail.
func (m *mailbox) came(mail []wire.Mail) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unread = m.unread[:0]
	for _, one := range mail {
		if !m.shown[one.ID] {
			m.unread = append(m.unread, one)
		}
	}
	if len(m.unread) > 0 {
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// waits returns a channel that is closed when mail comes.
func (m *mailbox) waits() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// reserve keeps the answer to a question, which the supervisor asked in the session's name, from the agent.
func (m *mailbox) reserve(input string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved[input] = true
}

// answer returns the answer to a question of the supervisor itself, if it is there.
func (m *mailbox) answer(input string) (wire.Mail, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.unread {
		if one.ID == input {
			return one, true
		}
	}
	return wire.Mail{}, false
}

// ofRun reports whether mail is the answer to what a run asked before its launch: it is not for the agent.
func ofRun(one wire.Mail) bool { return one.Run != 0 }

// confirmOwn tells the server that the answers to what runs asked before their launch were read, also those of earlier
// runs. What a session confirms makes it running, so this waits until its agent starts, or never will.
func (m *mailbox) confirmOwn(ctx context.Context) {
	m.mu.Lock()
	var own []string
	for _, one := range m.unread {
		if ofRun(one) {
			own = append(own, one.ID)
		}
	}
	m.unread = slices.DeleteFunc(m.unread, ofRun)
	m.mu.Unlock()
	for _, id := range own {
		m.confirm(ctx, id)
	}
}

// take returns the unread mail as a text for the agent, "" if there is none, and what to call once it is known whether
// the agent got it. Mail that it did not get comes again.
func (m *mailbox) take() (text string, handed func(ctx context.Context, got bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pieces, kept []wire.Mail
	for _, one := range m.unread {
		if ofRun(one) || m.reserved[one.ID] {
			kept = append(kept, one)
			continue
		}
		pieces = append(pieces, one)
		m.shown[one.ID] = true
	}
	m.unread = kept
	if len(pieces) == 0 {
		return "", func(context.Context, bool) {}
	}
	m.giving++
	return letters(pieces), func(ctx context.Context, got bool) {
		defer m.gave()
		for _, one := range pieces {
			if got {
				m.confirm(ctx, one.ID)
			} else {
				m.again(one.ID)
			}
		}
	}
}

// gave notes that the server knows which mail the agent has.
func (m *mailbox) gave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.giving--; m.giving == 0 {
		close(m.given)
		m.given = make(chan struct{})
	}
}

// settled waits until the server knows which mail the agent has, for a while: it refuses to end a session with unread
// mail, and an agent that was given it with its prompt may say at once that it is done.
func (m *mailbox) settled(ctx context.Context) {
	m.mu.Lock()
	giving, given := m.giving, m.given
	m.mu.Unlock()
	if giving == 0 {
		return
	}
	select {
	case <-given:
	case <-m.calls.after(settlesWithin):
	case <-ctx.Done():
	}
}

// again lets mail come once more.
func (m *mailbox) again(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.shown, id)
}

// confirm tells the server that the agent has a piece of mail.
func (m *mailbox) confirm(ctx context.Context, id string) {
	m.mu.Lock()
	m.shown[id] = true
	m.mu.Unlock()
	_, err := m.calls.do(ctx, m.calls.session, "input:received", &commands.ReceiveInput{InputID: id}, "received/"+id)
	if err != nil && ctx.Err() == nil {
		m.logger.Warn("the server does not take that mail was read", "mail", id, "why", err)
	}
}

// letters writes mail as a text for an agent. Each piece begins a line, and no line of a sender's looks like one.
func letters(pieces []wire.Mail) string {
	var text strings.Builder
	text.WriteString("You have mail:\n")
	for _, one := range pieces {
		text.WriteString("- " + safetext.Harmless(mail.Words(one)) + "\n")
	}
	return text.String()
}

package oracle

import "slices"

type question struct {
	project, session    string
	options, tasks      []string
	answer              string
	answered, delivered bool
	text                string
	// run is the run that waits for it, 0 if the session itself asked.
	run int
	// asked and replied are the ids of the events that opened and that answered it.
	asked, replied string
}

// aQuestion returns the event's question, and reports a fault if there is none, or if another session asked it.
func (c *trial) aQuestion(id, sessionID string) *question {
	q := c.questions[id]
	if q == nil {
		c.fault(ruleExists, "question %q does not exist", id)
		return nil
	}
	if q.session != sessionID {
		c.fault(ruleQuestion, "the question was asked by session %s, not by %s", q.session, sessionID)
	}
	return q
}

type inputAnswered struct {
	InputID   string   `json:"inputId"`
	SessionID string   `json:"sessionId"`
	TaskIDs   []string `json:"taskIds"`
	Answer    string   `json:"answer"`
	Other     bool     `json:"other"`
}

func (f *inputAnswered) about() (kind, id string) { return "input", f.InputID }
func (f *inputAnswered) commands() []string       { return []string{"input:answer"} }

func (f *inputAnswered) judge(c *trial) {
	q := c.aQuestion(f.InputID, f.SessionID)
	if q == nil {
		return
	}
	c.leader(c.aLiveSession(q.session))
	if c.thirdOn() && !slices.Equal(f.TaskIDs, q.tasks) {
		c.fault(ruleQuestion, "question %s is about %q, and the answer says %q", f.InputID, q.tasks, f.TaskIDs)
	}
	if q.answered {
		c.fault(ruleQuestion, "question %s was already answered", f.InputID)
	}
	if n := c.answersFor(q.session); c.thirdOn() && c.by.kind == bySession && n >= maxMail {
		c.fault(ruleLimit, "%d unread answers already wait for session %s", n, q.session)
	}
	if len(q.options) > 0 && !f.Other && !slices.Contains(q.options, f.Answer) {
		c.fault(ruleQuestion, "answer %q is not one of the options %q", f.Answer, q.options)
	}
}

// answersFor counts the answers that a session has not received.
func (c *trial) answersFor(session string) (n int) {
	for _, q := range c.questions {
		if q.session == session && q.answered && !q.delivered {
			n++
		}
	}
	return n
}

func (f *inputAnswered) fold(c *trial) {
	if q := c.questions[f.InputID]; q != nil {
		q.answered, q.answer, q.replied = true, f.Answer, c.event.ID
	}
}

type inputDelivered struct {
	InputID   string `json:"inputId"`
	SessionID string `json:"sessionId"`
}

func (f *inputDelivered) about() (kind, id string) { return "input", f.InputID }
func (f *inputDelivered) commands() []string       { return []string{"input:received"} }

func (f *inputDelivered) judge(c *trial) {
	c.own(f.SessionID)
	if s := c.sessions[f.SessionID]; s != nil && s.mail[f.InputID].event != "" {
		c.aLiveSession(s.id)
		return
	}
	q := c.aQuestion(f.InputID, f.SessionID)
	if q == nil {
		return
	}
	c.aLiveSession(q.session)
	if !q.answered || q.delivered {
		c.fault(ruleQuestion, "question %s has no answer, or its answer was already delivered", f.InputID)
	}
}

func (f *inputDelivered) fold(c *trial) {
	if q := c.questions[f.InputID]; q != nil {
		q.delivered = true
	}
	if s := c.sessions[f.SessionID]; s != nil {
		delete(s.mail, f.InputID)
	}
}

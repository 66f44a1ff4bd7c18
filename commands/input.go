package commands

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// AnswerInput answers a question. docs/contract.md, "Questions and mail".
type AnswerInput struct {
	noTexts
	InputID string `json:"inputId" arg:"questionId" doc:"the question"`
	Answer  string `json:"answer" doc:"the answer: one of the options, if there are any"`
	Other   bool   `json:"other,omitempty" doc:"accept an answer that is not one of the options"`
}

// ReceiveInput records that mail, an answer or a message, was shown to its session. The CLI and the hook send it.
type ReceiveInput struct {
	noTexts
	InputID string `json:"inputId" arg:"mailId" doc:"the question whose answer was shown, or the message"`
}

// ID implements Command.
func (*AnswerInput) ID() string { return "input:answer" }

// ID implements Command.
func (*ReceiveInput) ID() string { return "input:received" }

func (x *AnswerInput) project(s *projections.State, by Actor) string {
	return projectOfInput(s, by, x.InputID)
}

func (x *ReceiveInput) project(s *projections.State, by Actor) string {
	return projectOfInput(s, by, x.InputID)
}

func projectOfInput(s *projections.State, by Actor, id string) string {
	if input := s.Input(id); input != nil {
		return input.ProjectID
	}
	return by.Project
}

func input(s *projections.State, id string) (*projections.Input, error) {
	if err := ValidID("/inputId", id); err != nil {
		return nil, err
	}
	x := s.Input(id)
	if x == nil {
		return nil, notFound("Question", id)
	}
	return x, nil
}

// Decide implements Command.
func (x *AnswerInput) Decide(s *projections.State, c Call) (events.Data, error) {
	asked, err := input(s, x.InputID)
	if err != nil {
		return nil, err
	}
	asker := s.Session(asked.SessionID)
	if c.By.Kind == ActorSession && (asker == nil || !leads(s, c, c.By.Name, asker)) {
		return nil, notAllowed(x.ID(), "an orchestrator answers the sessions that it leads", "leave it to the user",
			"Session '%s' did not spawn session '%s'", c.By.Name, asked.SessionID)
	}
	switch status := s.InputStatus(asked); status {
	case projections.InputAnswered, projections.InputDelivered:
		why := "a question is answered once"
		switch {
		case asked.Run != 0: // whoever repeats an answer expects another attempt
			why = "an answer counts for one attempt to start the agent"
		case asked.Answer == x.Answer:
			return nil, nil
		}
		return nil, &Refusal{
			Code: CodeConflict,
			Message: "Question '" + asked.ID + "' was already answered: " + safetext.Printable(asked.Answer) +
				" (" + ByWhom(asked.AnsweredBy) + ", at " +
				time.UnixMilli(asked.AnsweredAt).UTC().Format(time.RFC3339) + ")",
			Why:  why,
			Next: afterAnswer(s, asked, asker),
		}
	case projections.InputVoid:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Question '" + asked.ID + "' needs no answer",
			Why:     whyVoid(s, asked),
			Next:    "see `maestro inbox`",
		}
	case projections.InputOpen:
	}
	// A session's unread mail consists of its messages and the answers to its questions.
	if n := int64(len(s.Undelivered(asked.SessionID)) - mailOf(asker)); thirdOn(c.Rules) &&
		c.By.Kind == ActorSession && n >= LimitMail.Value {
		full := LimitMail.exceeded("/inputId", "what waits for session '"+asked.SessionID+"'", n+1)
		full.Next = "wait until the session runs a command, which shows it its answers"
		return nil, full
	}
	switch {
	case strings.TrimSpace(x.Answer) == "":
		return nil, invalid("/answer", "answer is required")
	case len(x.Answer) > events.MaxText:
		return nil, invalid("/answer", "answer has at most %d bytes, this has %d", events.MaxText, len(x.Answer))
	}
	if err := ValidText("/answer", x.Answer); err != nil {
		return nil, err
	}
	if len(asked.Options) > 0 && !x.Other && !slices.Contains(asked.Options, x.Answer) {
		refusal := invalid("/answer", "'%s' is not one of the options", safetext.Printable(x.Answer))
		refusal.Why, refusal.Next = "the session asked for one of: "+strings.Join(asked.Options, ", "),
			"answer with one of them, or add --other to send your own answer"
		return nil, refusal
	}
	answered := &events.InputAnswered{
		InputID:   asked.ID,
		SessionID: asked.SessionID,
		Answer:    x.Answer,
		Other:     x.Other && !slices.Contains(asked.Options, x.Answer),
	}
	if thirdOn(c.Rules) {
		answered.TaskIDs = asked.TaskIDs
	}
	return answered, nil
}

// afterAnswer says what can still be done about a question that was answered. Its asker is nil if it was deleted.
func afterAnswer(s *projections.State, asked *projections.Input, asker *projections.Session) string {
	switch {
	case asker == nil || asker.Ended():
		return "see `maestro why " + asked.SessionID + "`"
	case asked.Run == 0:
		return "if the answer has changed, tell the session: `maestro session message " + asked.SessionID +
			" \"<text>\"`"
	}
	for open := range s.OpenQuestionsFrom(asked.SessionID) {
		if open.Run != 0 && s.InputStatus(open) == projections.InputOpen {
			return "the run asked again: answer that with `maestro input answer " + open.ID + " \"…\"`"
		}
	}
	return "see `maestro session info " + asked.SessionID + "`"
}

// Warnings implements Warner.
func (*AnswerInput) Warnings(s *projections.State, data events.Data) []Warning {
	answered, ok := data.(*events.InputAnswered)
	if !ok {
		return nil
	}
	return append(mayStayUnread(s, answered.SessionID), heldByAnother(s, answered.SessionID, "answer",
		answered.TaskIDs...)...)
}

// heldByAnother warns that mail to a session is about an item that another session holds by now: that one gets none.
func heldByAnother(s *projections.State, session, mail string, tasks ...string) (warnings []Warning) {
	for _, id := range tasks[:min(len(tasks), belowNamed)] {
		for _, item := range s.QueuesOf(id) {
			if item.Status != events.ItemProcessing || item.SessionID == session {
				continue
			}
			tell := "`maestro session message " + item.SessionID + " \"…\" --about " + id + "` tells it"
			warnings = append(warnings, Warning{
				Text:     "session " + item.SessionID + " holds task " + id + " now, and is sent no " + mail,
				Next:     []string{tell},
				Tasks:    []string{id},
				Sessions: []string{item.SessionID},
			})
		}
	}
	return warnings
}

func mailOf(x *projections.Session) int {
	if x == nil {
		return 0
	}
	return len(x.Mail)
}

func (x *AnswerInput) from(_ *events.Event, d *events.InputAnswered) bool {
	*x = AnswerInput{InputID: d.InputID, Answer: d.Answer, Other: d.Other}
	return true
}

// Decide implements Command.
func (x *ReceiveInput) Decide(s *projections.State, c Call) (events.Data, error) {
	if own := s.Session(c.By.Name); own != nil && c.By.Kind == ActorSession && own.Message(x.InputID) != nil {
		return &events.InputDelivered{InputID: x.InputID, SessionID: own.ID}, nil
	}
	asked, err := input(s, x.InputID)
	if err != nil {
		return nil, noMail(err, x.InputID)
	}
	if asked.SessionID != c.By.Name {
		return nil, notAllowed(x.ID(), "a session receives the answers to its own questions", "",
			"Question '%s' is not session '%s's", asked.ID, c.By.Name)
	}
	switch s.InputStatus(asked) {
	case projections.InputDelivered:
		return nil, nil
	case projections.InputAnswered:
		return &events.InputDelivered{InputID: asked.ID, SessionID: asked.SessionID}, nil
	case projections.InputOpen, projections.InputVoid:
	}
	return nil, forbidden("only an answer can be delivered", "wait for it with `maestro input wait "+asked.ID+"`",
		"Question '%s' has no answer yet", asked.ID)
}

// whyVoid says why a question has no use for an answer.
func whyVoid(s *projections.State, asked *projections.Input) string {
	if x := s.Session(asked.SessionID); asked.Run != 0 && x != nil && !x.Ended() {
		return "it is about run " + strconv.Itoa(asked.Run) + " of its session, which is over"
	}
	return "its session has ended"
}

// noMail says of an unknown id that it may be that of a message too, and how mail is received without one.
func noMail(err error, id string) error {
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Code != CodeNotFound {
		return err
	}
	return &Refusal{
		Code:    CodeNotFound,
		Message: "Mail with id '" + id + "' not found",
		Why:     "the session has neither a message nor a question with this id",
		Next:    "nothing is lost: mail that was not received is shown again by the session's next command",
	}
}

func (x *ReceiveInput) from(_ *events.Event, d *events.InputDelivered) bool {
	*x = ReceiveInput{InputID: d.InputID}
	return true
}

// validOptions checks the answers that a question offers.
func validOptions(options []string) error {
	if len(options) > maxOptions {
		return invalid("/options", "at most %d options, these are %d", maxOptions, len(options))
	}
	for i, option := range options {
		if strings.TrimSpace(option) == "" {
			return invalid("/options", "an option is empty")
		}
		if err := ValidLine("/options", option, maxTitle); err != nil {
			return err
		}
		if slices.Contains(options[:i], option) {
			return invalid("/options", "the option '%s' is listed twice", safetext.Printable(option))
		}
	}
	return nil
}

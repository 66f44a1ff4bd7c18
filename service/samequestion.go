package service

import (
	"context"
	"slices"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// sameQuestion returns the newest of a session's questions that asks the same, and whose answer the session still has
// to get; nil if there is none. except is the id of the question itself, if it is asked already.
func (v View) sameQuestion(session, except, words string, options, tasks []string) (same *projections.Input) {
	compare := func(x *projections.Input) {
		v.Worked(1)
		if x.ID != except && x.Question == words && slices.Equal(x.Options, options) &&
			slices.Equal(x.TaskIDs, tasks) && (same == nil || x.AskedAt >= same.AskedAt) {
			same = x
		}
	}
	for x := range v.OpenQuestionsFrom(session) {
		if v.NeedsAnswer(x) {
			compare(x)
		}
	}
	for _, id := range v.Undelivered(session) {
		if x := v.Input(id); x != nil {
			compare(x)
		}
	}
	return same
}

// ifNew tells a session that asks for it which of its questions asks the same already. Otherwise a command that was
// interrupted, or kept and repeated, would ask it twice.
func (s *Service) ifNew(ctx context.Context, c *Caller, command commands.Command, o Options, done *Done) error {
	r, ok := command.(*commands.Report)
	if !o.IfNew || !ok || r.Kind != events.ReportNeedsInput || c.By.Kind != commands.ActorSession {
		return nil
	}
	return s.work(ctx, c, func(v View) error {
		if same := v.sameQuestion(c.By.Name, "", r.Message, r.Options, r.TaskIDs); same != nil {
			done.Asked, done.Sequence = same.ID, v.Head().Sequence
		}
		return nil
	})
}

// asksAgain warns of a question that its session has asked already, and whose answer it still has to get.
func asksAgain(v View, said *events.SessionReported) []string {
	same := v.sameQuestion(said.SessionID, said.InputID, said.Message, said.Options, said.TaskIDs)
	if same == nil {
		return nil
	}
	if v.InputStatus(same) == projections.InputAnswered {
		answered := "this asks it a second time: your question " + same.ID + " with the same words is answered"
		return []string{v.warning(answered, "`maestro input wait "+same.ID+"` prints the answer")}
	}
	open := "this asks it a second time: your question " + same.ID + " with the same words is still open"
	return []string{v.warning(open, "`maestro input wait "+same.ID+"` waits for its answer")}
}

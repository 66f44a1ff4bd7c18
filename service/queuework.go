package service

import (
	"context"
	"slices"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// The bounds of a [wire.Work]. Texts are measured in bytes.
const (
	workText     = events.MaxText
	workResult   = 2 << 10
	workCriteria = 16 << 10
	workResults  = 20
)

// workOf returns what a session needs to do the work of an item; nil if the task was deleted. It has the beginning of a
// text that the state does not hold completely.
func (v View) workOf(item *projections.Item) *wire.Work {
	t := v.Task(item.TaskID)
	if t == nil {
		return nil
	}
	w := &wire.Work{
		TaskID:   t.ID,
		Title:    t.Title,
		Criteria: []string{},
		Results:  []wire.WorkResult{},
	}
	w.Description = shortened(w, "description", t.Description, t.Blobs)
	w.InitialPrompt = shortened(w, "initialPrompt", t.InitialPrompt, t.Blobs)
	w.Redacted = v.RedactionViews(t.Blobs)
	w.Reopened = t.ReopenReason()
	if t.Status == events.TaskBlocked {
		w.Blocked = cmpOr(t.StatusReasonText(), "no reason was given")
	}
	w.Requeued, w.Skipped = item.Requeued, item.Skipped
	w.SaidDone = v.saidDone(t)
	w.Failed = v.saidFailed(t)
	left := workCriteria
	for _, criterion := range t.AcceptanceCriteria {
		if left -= len(criterion); left < 0 {
			w.Cut = append(w.Cut, "acceptanceCriteria")
			break
		}
		w.Criteria = append(w.Criteria, criterion)
	}
	for _, id := range t.Dependencies {
		if len(w.Results) == workResults {
			break
		}
		v.Worked(1)
		on := v.Task(id)
		if on == nil {
			continue
		}
		result := wire.WorkResult{TaskID: on.ID, Title: on.Title, Status: on.Status}
		if said := v.ShownResult(on); said != nil {
			result.Result, result.Cut = events.Beginning(said.Text, workResult)
			result.Cut = result.Cut || said.Blob != ""
		}
		w.Results = append(w.Results, result)
	}
	w.ResultsMore = max(0, len(t.Dependencies)-workResults)
	v.Worked((len(w.Description) + len(w.InitialPrompt) + workCriteria - max(left, 0)) / bytesPerStep)
	return w
}

// saidDone returns the newest report of another session than the caller that a task is completed; nil if there is none.
func (v View) saidDone(t *projections.Task) *wire.WorkDone {
	v.Worked(t.Speakers() / namesPerStep)
	for _, said := range slices.Backward(t.AllSays()) {
		if said.Status != events.SaysCompleted || said.SessionID == v.Caller.By.Name {
			continue
		}
		done := &wire.WorkDone{SessionID: said.SessionID}
		if result := v.ShownResult(t); result != nil {
			if _, by, _ := projections.SessionOfSource(result.By); by == said.SessionID {
				done.Result, done.Cut = events.Beginning(result.Text, workResult)
				done.Cut = done.Cut || result.Blob != ""
			}
		}
		return done
	}
	return nil
}

// saidFailed returns why the work on a task failed, if that is the last thing that was said of it, apart from who
// works on it now; nil otherwise.
func (v View) saidFailed(t *projections.Task) *wire.WorkFailed {
	v.Worked(t.Speakers() / namesPerStep)
	for _, said := range slices.Backward(t.AllSays()) {
		if said.Status == events.SaysCompleted {
			return nil
		}
		if said.Status != events.SaysFailed {
			continue
		}
		failed := &wire.WorkFailed{SessionID: said.SessionID}
		if said.Words != nil {
			failed.Reason, failed.Cut = events.Beginning(said.Words.Text, workResult)
			failed.Cut = failed.Cut || said.Words.Blob != ""
		}
		return failed
	}
	return nil
}

// wholeWork reads the texts of a task that are too long for the state, up to the bound. A text that cannot be read
// stays cut.
func (s *Service) wholeWork(ctx context.Context, c *Caller, w *wire.Work, blobs events.Blobs) {
	for name, text := range map[string]*string{"description": &w.Description, "initialPrompt": &w.InitialPrompt} {
		if blobs[name] == "" {
			continue
		}
		content, err := s.readBlob(ctx, blobs[name], c.chargedWork)
		if err != nil {
			continue
		}
		short, cut := events.Beginning(string(content), workText)
		*text = short
		if !cut {
			w.Cut = slices.DeleteFunc(w.Cut, func(field string) bool { return field == name })
		}
	}
}

// shortened returns a text within its bound, and notes in Cut if it is only the beginning.
func shortened(w *wire.Work, name, text string, blobs events.Blobs) string {
	short, cut := events.Beginning(text, workText)
	if cut || blobs[name] != "" {
		w.Cut = append(w.Cut, name)
	}
	return short
}

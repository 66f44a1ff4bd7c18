package projections

import (
	"iter"
	"slices"

	"maestro/events"
)

// SessionMessageKind is the kind of a [SessionMessage]: a kind of report, or one of those below.
type SessionMessageKind string

// The kinds of messages besides the kinds of reports.
const (
	SessionMessageFailed   SessionMessageKind = "failed"   // why it failed an item of a queue
	SessionMessageSkipped  SessionMessageKind = "skipped"  // why it skipped an item of a queue
	SessionMessageAnswer   SessionMessageKind = "answer"   // the answer to its question
	SessionMessageMail     SessionMessageKind = "message"  // what somebody wrote to it
	SessionMessageReopened SessionMessageKind = "reopened" // why a task that it works on was reopened
)

// The types of the entries with texts for a session, and with its reason for failing or skipping an item. No note has
// them.
const (
	typeFailed   = "task_failed"
	typeSkipped  = "task_skipped"
	typeAnswered = "input_answered"
	typeMessage  = "session_message"
	typeReopened = "task_reopened"
)

// wordsOf are the types of entries with texts of a session, wordsTo those with texts for it. Every other entry shows a
// decision.
var (
	wordsOf = map[string]SessionMessageKind{
		typeFailed:                          SessionMessageFailed,
		typeSkipped:                         SessionMessageSkipped,
		reportType(events.ReportProgress):   SessionMessageKind(events.ReportProgress),
		reportType(events.ReportComplete):   SessionMessageKind(events.ReportComplete),
		reportType(events.ReportBlocked):    SessionMessageKind(events.ReportBlocked),
		reportType(events.ReportError):      SessionMessageKind(events.ReportError),
		reportType(events.ReportNeedsInput): SessionMessageKind(events.ReportNeedsInput),
	}
	wordsTo = map[string]SessionMessageKind{
		typeAnswered: SessionMessageAnswer,
		typeMessage:  SessionMessageMail,
		typeReopened: SessionMessageReopened,
	}
)

// IsTold reports whether a message is one to its session: the others are what the session said.
func (k SessionMessageKind) IsTold() bool {
	for _, to := range wordsTo {
		if k == to {
			return true
		}
	}
	return false
}

// IsMail reports whether an entry holds mail to its session: the answer to a question, or a message.
func (e *Entry) IsMail() bool { return e.Type == typeAnswered || e.Type == typeMessage }

// SessionMessage is what a session said about its work, or was told. TaskIDs are the tasks that it is about.
type SessionMessage struct {
	Kind    SessionMessageKind
	TaskIDs []string
	Text    string
	// From is the source of the event, InputID the question that it asks or answers, "" for none.
	From, InputID string
	// Blob is the digest of the whole text, if Text is only its beginning.
	Blob string
	// Late says that it was delivered after the session's end, when it was too late for anybody to act on.
	Late bool
}

// SessionMessages returns the newest messages from and to a session, at most this many, oldest first. A report about
// several tasks counts once. Entries with generated text do not count. Late reports fill the places that the other
// messages leave. newest yields the session's entries that are late, or that are not, newest first.
func (x *Session) SessionMessages(newest func(late bool) iter.Seq[*Entry], most int) []SessionMessage {
	words, sequences := x.newestWords(newest(false), most)
	late, lateSequences := x.newestWords(newest(true), most-len(words))
	for i, word := range slices.Backward(late) {
		at, _ := slices.BinarySearch(sequences, lateSequences[i])
		words, sequences = slices.Insert(words, at, word), slices.Insert(sequences, at, lateSequences[i])
	}
	return words
}

// newestWords returns the newest messages of entries that come newest first, oldest first, with their sequences.
func (x *Session) newestWords(newest iter.Seq[*Entry], most int) (words []SessionMessage, sequences []uint64) {
	words = []SessionMessage{}
	if most <= 0 {
		return words, nil
	}
	last := uint64(0)
	for e := range newest {
		kind := x.WordKind(e)
		if kind == "" {
			continue
		}
		if e.Sequence != last {
			if len(words) == most {
				break
			}
			words = append(words, SessionMessage{
				Kind:    kind,
				Text:    e.Message,
				From:    e.Source,
				InputID: e.InputID,
				Blob:    e.Blob,
				Late:    e.Late,
			})
			sequences = append(sequences, e.Sequence)
			last = e.Sequence
		}
		if e.TaskID != "" {
			word := &words[len(words)-1]
			word.TaskIDs = append(word.TaskIDs, e.TaskID)
		}
	}
	for _, word := range words {
		slices.Reverse(word.TaskIDs)
	}
	slices.Reverse(words)
	slices.Reverse(sequences)
	return words, sequences
}

// WordKind returns the kind of message that an entry of the session is, "" if it is none.
func (x *Session) WordKind(e *Entry) SessionMessageKind {
	switch {
	case e.Message == "":
		return ""
	case e.Source == x.Source() && wordsOf[e.Type] != "":
		return wordsOf[e.Type]
	}
	return wordsTo[e.Type]
}

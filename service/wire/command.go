package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Outcome is the result of a command.
type Outcome struct {
	// Sequence is that of the event, or the one at which "already so" was decided.
	Sequence uint64 `json:"sequence"`
	// Event is the stored CloudEvent; null for "already so".
	Event json.RawMessage `json:"event"`
}

// Below lists the sessions below the one that a command ended or revoked.
type Below struct {
	// Also are the sessions that the command was applied to as well. LivingBelow counts those that it was not applied
	// to.
	Also        []string `json:"also,omitempty"`
	LivingBelow int      `json:"livingBelow,omitempty"`
}

// Team lists whom a message to a team reached: the team as it is now, also when the call is repeated.
type Team struct {
	Sent []string `json:"sent"`
	// NotSent are the sessions for which it was refused.
	NotSent []NotSent `json:"notSent,omitempty"`
	// Names are the names of these sessions, of those that have one.
	Names map[string]string `json:"names,omitempty"`
}

// NotSent says why a session of a team did not get a message.
type NotSent struct {
	SessionID string `json:"sessionId"`
	Message   string `json:"message"`
}

// LeftOpen lists the tasks of a session that ends its work: those that are open and that it did not report as done.
type LeftOpen struct {
	// LeavesOpen names the first of them, LeavesOpenMore counts the others.
	LeavesOpen     []string `json:"leavesOpen,omitempty"`
	LeavesOpenMore int      `json:"leavesOpenMore,omitempty"`
	// LeavesOpenNext is what the caller can do about them.
	LeavesOpenNext string `json:"leavesOpenNext,omitempty"`
}

// Done is the answer to POST /api/commands/<id>.
type Done struct {
	Outcome
	DryRun bool `json:"dryRun,omitempty"`
	// Asked is the question that the session had asked already: `?ifNew=true` asks it no second time.
	Asked string `json:"asked,omitempty"`
	// Token is the secret that the command created, for its caller only; "" if there is none.
	Token string `json:"token,omitempty"`
	Below
	// Team lists whom a message to a team reached; nil for any other command.
	Team *Team `json:"team,omitempty"`
	LeftOpen
	// Warnings are what the caller should know about the effects of the command.
	Warnings []string `json:"warnings,omitempty"`
	// Start is the result of queue:start; nil for any other command, and for a dry run.
	Start *Start `json:"start,omitempty"`
	// Revoked lists what a revoked token leaves behind; nil for any other command, and for a dry run.
	Revoked *Revoked `json:"revoked,omitempty"`
	// Kept says that a supervisor keeps the command; nil if the server answered.
	Kept *Kept `json:"-"`
	// Retried says that an earlier attempt with the same key created the event. HTTP sends it as [HeaderRetried].
	Retried bool `json:"-"`
}

// AppendJSON appends the answer as encoding/json writes it without HTML escapes. Nearly all calls are commands, so
// their answer avoids reflection.
func (d *Done) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"sequence":`...)
	b = strconv.AppendUint(b, d.Sequence, 10)
	b = append(b, `,"event":`...)
	if d.Event == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, d.Event...)
	}
	if d.DryRun {
		b = append(b, `,"dryRun":true`...)
	}
	if d.Asked != "" {
		b = append(append(append(b, `,"asked":"`...), d.Asked...), '"')
	}
	if d.Token != "" { // ids and base64url need no escapes
		b = append(append(append(b, `,"token":"`...), d.Token...), '"')
	}
	b = appendIDs(b, `,"also":["`, d.Also)
	if d.LivingBelow > 0 {
		b = strconv.AppendInt(append(b, `,"livingBelow":`...), int64(d.LivingBelow), 10)
	}
	var err error
	if d.Team != nil {
		b, err = appendMember(b, `,"team":`, d.Team)
	}
	b = appendIDs(b, `,"leavesOpen":["`, d.LeavesOpen)
	if d.LeavesOpenMore > 0 {
		b = strconv.AppendInt(append(b, `,"leavesOpenMore":`...), int64(d.LeavesOpenMore), 10)
	}
	if err == nil && d.LeavesOpenNext != "" {
		b, err = appendMember(b, `,"leavesOpenNext":`, d.LeavesOpenNext)
	}
	if err == nil && len(d.Warnings) > 0 {
		b, err = appendMember(b, `,"warnings":`, d.Warnings)
	}
	if err == nil && d.Start != nil {
		b, err = appendMember(b, `,"start":`, d.Start)
	}
	if err == nil && d.Revoked != nil {
		b, err = appendMember(b, `,"revoked":`, d.Revoked)
	}
	return append(b, '}'), err
}

// appendIDs appends a member with ids, which need no escapes; nothing if there are none. opens is the text up to the
// first id.
func appendIDs(b []byte, opens string, ids []string) []byte {
	if len(ids) == 0 {
		return b
	}
	b = append(b, opens...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, `","`...)
		}
		b = append(b, id...)
	}
	return append(b, `"]`...)
}

func appendMember(b []byte, name string, value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return append(append(b, name...), bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Command is a command and its caller.
type Command struct {
	// ID is the id of its row in the table, Body its fields as JSON.
	ID   string
	Body json.RawMessage
	// Source is the caller, as the source of an event.
	Source string
	// Access is the kind of a user's token: admin, auditor or read-only. Generation is that of the secret of a session
	// or a named token.
	Access     string
	Generation int
	// Speaks is the session that the credential of a supervisor speaks for, "" for all of its runner's; Generation is
	// then that of the session.
	Speaks string
	// At is when it is decided; a time before the newest event counts as that event's time. Said is when the caller
	// sent it, if it was kept before.
	At, Said time.Time
}

// Answer is the result of a command according to the documents.
type Answer struct {
	// Event: it becomes an event.
	Event bool
	// Already: it changes nothing, because the state is already so.
	Already bool
	// Codes are the permitted codes of its refusal: several, if the command is wrong in more than one way.
	Codes []string
	// Because are the rules that its event would break.
	Because []Fault
}

func (a Answer) String() string {
	switch {
	case a.Event:
		return "an event"
	case a.Already:
		return "already so"
	}
	return strings.TrimSpace(fmt.Sprintf("refused with %s %v", strings.Join(a.Codes, " or "), a.Because))
}

// The codes of refusals.
const (
	codeAllowed  = "NOT_ALLOWED"
	codeFound    = "NOT_FOUND"
	codeInvalid  = "VALIDATION_ERROR"
	codeConflict = "CONFLICT"
	codeRule     = "BUSINESS_RULE_ERROR"
	codeLimit    = "LIMIT_EXCEEDED"
)

// codesOf are the codes that refuse a command whose event would break a rule.
var codesOf = map[string][]string{
	rulePermitted:   {codeAllowed},
	ruleUser:        {codeAllowed},
	ruleSystem:      {codeAllowed},
	ruleOwn:         {codeAllowed},
	ruleNote:        {codeAllowed},
	ruleScope:       {codeAllowed},
	ruleSpawner:     {codeAllowed},
	rulePermissions: {codeInvalid, codeAllowed},
	ruleEnded:       {codeAllowed},
	ruleExists:      {codeFound},
	ruleProject:     {codeInvalid, codeRule},
	ruleTask:        {codeInvalid, codeFound},
	rulePlanID:      {codeConflict},
	ruleSession:     {codeInvalid},
	ruleManifest:    {codeInvalid, codeAllowed, codeRule, codeConflict},
	ruleSpawn:       {codeInvalid, codeFound, codeAllowed, codeRule},
	ruleWork:        {codeRule, codeAllowed},
	ruleLimit:       {codeLimit},
	ruleStatus:      {codeInvalid, codeRule},
	ruleStatusOwner: {codeAllowed},
	ruleFinish:      {codeRule},
	ruleReportTasks: {codeAllowed},
	ruleReport:      {codeInvalid},
	ruleLate:        {codeAllowed},
	ruleQueue:       {codeConflict, codeInvalid},
	ruleHolder:      {codeConflict},
	rulePull:        {codeAllowed, codeConflict},
	ruleOrder:       {codeConflict},
	ruleReturn:      {codeRule},
	ruleRequeue:     {codeConflict},
	ruleMoved:       {codeConflict},
	ruleLease:       {codeRule},
	ruleRun:         {codeConflict, codeAllowed, codeRule},
	ruleTimeout:     {codeRule},
	ruleQuestion:    {codeConflict, codeInvalid, codeRule},
	ruleToken:       {codeInvalid, codeConflict, codeRule},
	ruleText:        {codeInvalid, codeRule},
	ruleTemplate:    {codeInvalid, codeRule},
	ruleWebhook:     {codeInvalid, codeRule},
}

// Ask returns the required result of a command on the lines that the Judge has seen. It changes nothing.
func (j *Judge) Ask(command Command) Answer {
	a := j.asked(command, "(new)")
	a.propose()
	switch {
	case a.refused():
		for _, f := range a.verdict.Faults {
			a.codes = append(a.codes, codesOf[f.Rule]...)
		}
		slices.Sort(a.codes)
		return Answer{Codes: slices.Compact(a.codes), Because: a.verdict.Faults}
	case a.already:
		return Answer{Already: true}
	}
	return Answer{Event: true}
}

// Permits reports whether the table permits the command to its caller, and whether the credential is valid. Ask returns
// the result.
func (j *Judge) Permits(command Command) bool {
	a := j.asked(command, "(new)")
	a.permit()
	return !a.refused()
}

// Project returns the project in which a command acts, "" for none.
func (j *Judge) Project(command Command) string { return j.asked(command, "").event.Project }

package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Command is what somebody asks for.
type Command struct {
	// ID is that of its row in the table, Body its fields as JSON.
	ID   string
	Body json.RawMessage
	// Source is who asks, as an event would say it.
	Source string
	// Access is what the token of a user is for: admin, auditor or read-only. Generation is which of the secrets that a
	// session or a named token had it is.
	Access     string
	Generation int
	// At is when it is decided; a time before the newest event counts as the time of that. Said is when it was said, if
	// it was kept before.
	At, Said time.Time
}

// Answer is what the documents make of a command.
type Answer struct {
	// Event: it becomes one.
	Event bool
	// Already: it changes nothing, because it is so already.
	Already bool
	// Codes are those that its refusal may have: of a command that is wrong in more than one way, several.
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

// codesOf are the codes with which a command is refused whose event would break a rule.
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
	ruleTimeout:     {codeRule},
	ruleQuestion:    {codeConflict, codeInvalid, codeRule},
	ruleToken:       {codeInvalid, codeConflict, codeRule},
	ruleTemplate:    {codeInvalid, codeRule},
}

// Ask says what a command must come to, on what the Judge has seen. It changes nothing.
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

// Permits reports whether the table lets who asks ask, and whether its credential is good; what the command comes to,
// Ask says.
func (j *Judge) Permits(command Command) bool {
	a := j.asked(command, "(new)")
	a.permit()
	return !a.refused()
}

// Project returns the project that a command acts in, "" if in none.
func (j *Judge) Project(command Command) string { return j.asked(command, "").event.Project }

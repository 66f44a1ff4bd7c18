package commands

import (
	"fmt"

	"maestro/internal/safetext"
)

// Code is the reason for a refusal. Clients match it, and it determines the HTTP status and the exit code.
type Code string

// The codes of refusals.
const (
	CodeInvalid    Code = "VALIDATION_ERROR"    // a field is missing or wrong
	CodeNotAllowed Code = "NOT_ALLOWED"         // the permission table refuses
	CodeNotFound   Code = "NOT_FOUND"           // its target does not exist
	CodeConflict   Code = "CONFLICT"            // it conflicts with the current state
	CodeKeyReused  Code = "KEY_REUSED"          // the key was used for another command body
	CodeTooLarge   Code = "TOO_LARGE"           // more than the log accepts
	CodeRule       Code = "BUSINESS_RULE_ERROR" // the state forbids it
	CodeLimit      Code = "LIMIT_EXCEEDED"      // above a documented limit (docs/limits.md)
)

// Refusal is the error for a command that was refused and became no event. Match it with errors.As.
type Refusal struct {
	Code Code
	// Message says what was refused.
	Message string
	// Why names the rule, Next what to do instead; either may be empty.
	Why, Next string
	// Rule is the id of the table's row that refused, if one did.
	Rule string
	// Denied is set if the table or the caller's list does not let the caller use the command at all.
	Denied *Denied
	// Missing is what does not exist, if that is the reason.
	Missing *Missing
	// Pointer is the RFC 6901 location of the faulty field, if any.
	Pointer string
	// Err is a reason that callers tell apart from others with errors.Is; nil for most refusals.
	Err error
	// Recorded says that the refusal is already recorded, or must not be.
	Recorded bool
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

func invalid(pointer, format string, args ...any) *Refusal {
	return &Refusal{Code: CodeInvalid, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// elsewhere refuses to connect objects of different projects. It does not name the other project, which the caller may
// not be allowed to know.
func elsewhere(pointer, what, id, project string) *Refusal {
	return invalid(pointer, "%s '%s' is not in project '%s'", what, id, project)
}

func notFound(kind, id string) *Refusal {
	return &Refusal{
		Code:    CodeNotFound,
		Missing: &Missing{kind, safetext.Printable(id)},
		Message: fmt.Sprintf("%s with id '%s' not found", kind, id),
		Next:    ListOf(kind),
	}
}

// NoQueue refuses the name of a queue that does not exist: it may be another project's.
func NoQueue(project, name string) *Refusal {
	return &Refusal{
		Code:    CodeNotFound,
		Message: "There is no queue '" + safetext.Printable(name) + "' in project " + project,
		Next:    "`maestro queue status --project " + project + "` lists its queues",
	}
}

// Missing is an object that does not exist: its kind, as a sentence begins, and the id by which it was named.
type Missing struct{ Kind, ID string }

// ListOf returns the command that lists a kind of object; "" if none does.
func ListOf(kind string) string {
	command, ok := map[string]string{
		"Project":     "project list",
		"Task":        "task list",
		"Parent task": "task list",
		"Session":     "session list",
		"Queue":       "queue status",
		"Question":    "input list",
		"Template":    "template list",
		"Token":       "token list",
		"Webhook":     "webhook list",
		"Actor":       "session list` and `maestro token list",
		"Target":      "task list` and `maestro session list",
	}[kind]
	if !ok {
		return ""
	}
	return "list what exists with `maestro " + command + "`"
}

func notAllowed(rule, why, next, format string, args ...any) *Refusal {
	return &Refusal{
		Code:    CodeNotAllowed,
		Rule:    rule,
		Why:     why,
		Next:    next,
		Message: fmt.Sprintf(format, args...),
	}
}

// Denied says who may not use a command, and what they may use.
type Denied struct {
	// Caller describes who may not use it.
	Caller string
	// For names who may; "" if the caller's role may, and this caller may not.
	For string
	// Instead is the command line that may do what the caller meant; "" if none is known.
	Instead string
}

// denied refuses a caller the whole command; id is what it asked for, which may be an alias of the row.
func denied(rule, id, why, next string, d Denied) *Refusal {
	if d.For != "" {
		why = "it is for: " + d.For
	}
	refusal := notAllowed(rule, why, next, "Command '%s' is not allowed for %s", id, d.Caller)
	refusal.Denied = &d
	return refusal
}

func forbidden(why, next, format string, args ...any) *Refusal {
	return &Refusal{
		Code:    CodeRule,
		Why:     why,
		Next:    next,
		Message: fmt.Sprintf(format, args...),
	}
}

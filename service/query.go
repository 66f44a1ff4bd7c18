package service

import "errors"

// Query names what is read, the same at every interface: "session-info". What it may be asked for after a session's
// end, and by whom, is decided here.
type Query string

// queryRule is what is so of a query. Of any other it is the opposite, also of one that is added later.
type queryRule struct {
	// afterEnd says that a session may ask it after its end: about itself, its own tasks, its own questions and mail.
	// Whose session, task or question it is, the query itself checks, with [View.Own].
	afterEnd bool
	// readsLog says that its work grows with the log. Tests hold every other query to a few messages.
	readsLog bool
	// inPages says that its list comes in pages whether that is asked for or not.
	inPages bool
}

var queryRules = map[Query]queryRule{
	"whoami":           {afterEnd: true},
	"commands":         {afterEnd: true},
	"command-check":    {afterEnd: true},
	"session-info":     {afterEnd: true},
	"session-timeline": {afterEnd: true, inPages: true},
	"session-manifest": {afterEnd: true},
	"session-mail":     {afterEnd: true},
	"task-get":         {afterEnd: true},
	"task-timeline":    {inPages: true},
	"project-tree":     {inPages: true},
	"input-list":       {afterEnd: true, inPages: true},
	"input-get":        {afterEnd: true},
	"inbox":            {inPages: true},
	"queue-names":      {inPages: true},
	"token-list":       {inPages: true},
	"audit-denials":    {inPages: true},
	"audit-export":     {readsLog: true},
	"audit-verify":     {readsLog: true},
	"audit-texts":      {readsLog: true},
	"backup":           {readsLog: true},
	"since":            {readsLog: true},
}

// ReadsLog reports whether the work of a query grows with the log.
func (q Query) ReadsLog() bool { return queryRules[q].readsLog }

// InPages reports whether a query's list comes in pages whether that is asked for or not.
func (q Query) InPages() bool { return queryRules[q].inPages }

// ErrPage refuses a long read to a caller without a credential that may be a page in a browser.
var ErrPage = errors.New("a caller without a credential that may be a page in a browser starts no reading of the whole log")

// Ask says what a caller reads, and refuses what it may not ask at all: a session that has ended what is not its own,
// and a caller that may be a page in a browser a long read. Every look that follows stands for this query.
func (s *Service) Ask(c *Caller, q Query) error {
	c.asks = q
	if err := c.mayLook(); err != nil {
		return err
	}
	return c.mayReadLog(q)
}

// mayLook refuses a session that has ended a look for what it may not read any more; without a query that is anything.
func (c *Caller) mayLook() error {
	if !c.Ended || queryRules[c.asks].afterEnd {
		return nil
	}
	return AfterEnd(c.By, "status") // the row that reads the project
}

// mayReadLog holds a caller to what it may be: any page can make a browser ask, without a credential where none is
// needed.
func (c *Caller) mayReadLog(q Query) error {
	if c.Anonymous && !c.Program && q.ReadsLog() {
		return ErrPage
	}
	return nil
}

package service

import "errors"

// Query names a read, the same at every interface: "session-info". What it may be asked for after a session's end, and
// by whom, is decided here.
type Query string

// queryRule is what is so of a query. Of any other it is the opposite, also of one that is added later.
type queryRule struct {
	// rows are the rows of the permission table that let a caller ask: one of them, depending on what is asked for. Who
	// may use none of them is refused.
	rows []string
	// afterEnd says that a session may ask it after its end: about itself, its own tasks, its own questions and mail.
	// Whose session, task or question it is, the query itself checks, with [View.Own].
	afterEnd bool
	// readsLog says that its work grows with the log. Tests hold every other query to a few messages.
	readsLog bool
	// inPages says that its list comes in pages whether that is asked for or not.
	inPages bool
}

var queryRules = map[Query]queryRule{
	"whoami":                {rows: one("whoami"), afterEnd: true},
	"commands":              {rows: one("commands"), afterEnd: true},
	"command-check":         {rows: one("commands"), afterEnd: true},
	"project-list":          {rows: one("project:list")},
	"project-get":           {rows: one("project:get")},
	"project-status":        {rows: one("status")},
	"project-tree":          {rows: one("task:tree"), inPages: true},
	"task-list":             {rows: one("task:list")},
	"task-get":              {rows: one("task:get"), afterEnd: true},
	"task-children":         {rows: one("task:children")},
	"task-tree":             {rows: one("task:tree")},
	"task-timeline":         {rows: one("task:get"), inPages: true},
	"session-list":          {rows: one("session:list")},
	"session-info":          {rows: one("session:info"), afterEnd: true},
	"session-timeline":      {rows: one("session:info"), afterEnd: true, inPages: true},
	"session-manifest":      {rows: []string{"whoami", "manifest:show"}, afterEnd: true},
	"session-workflow":      {rows: []string{"whoami", "manifest:show"}, afterEnd: true},
	"session-mail":          {rows: []string{"whoami", "input:wait", "session:info"}, afterEnd: true},
	"session-credential":    {rows: one("session:spawn")},
	"session-queue":         {rows: one("queue:list")},
	"session-queue-items":   {rows: one("queue:list")},
	"queue-names":           {rows: one("queue:status"), inPages: true},
	"queue-list":            {rows: one("queue:list")},
	"queue-top":             {rows: one("queue:top")},
	"queue-next":            {rows: one("queue:top")},
	"input-list":            {rows: []string{"input:list", "whoami"}, afterEnd: true, inPages: true},
	"input-get":             {rows: []string{"input:list", "whoami"}, afterEnd: true},
	"inbox":                 {rows: one("inbox"), inPages: true},
	"since":                 {rows: one("since"), readsLog: true},
	"why":                   {rows: one("why")},
	"template-list":         {rows: one("template:list")},
	"template-get":          {rows: one("template:get")},
	"template-role":         {rows: one("template:list")},
	"template-default":      {rows: one("template:get")},
	"manifest-schema":       {rows: one("manifest:schema")},
	"blob":                  {rows: one("whoami")},
	"clock":                 {},
	"token-list":            {rows: one("token:list"), inPages: true},
	"audit-head":            {rows: one("audit:head")},
	"audit-denials":         {rows: one("audit:denials"), inPages: true},
	"audit-unauthenticated": {rows: one("audit:denials")},
	"audit-limits":          {rows: one("audit:denials")},
	"audit-can":             {rows: one("audit:can")},
	"audit-export":          {rows: one("audit:export"), readsLog: true},
	"audit-verify":          {rows: one("audit:verify"), readsLog: true},
	"audit-texts":           {rows: one("audit:verify"), readsLog: true},
	"backup":                {rows: one("audit:export"), readsLog: true},
}

func one(row string) []string { return []string{row} }

// Rows returns the rows of the permission table that let a caller ask a query: one of them, depending on what is asked
// for; none for what everybody may ask.
func (q Query) Rows() []string { return queryRules[q].rows }

// ReadsLog reports whether the work of a query grows with the log.
func (q Query) ReadsLog() bool { return queryRules[q].readsLog }

// InPages reports whether a query's list comes in pages whether that is asked for or not.
func (q Query) InPages() bool { return queryRules[q].inPages }

// ErrPage refuses a long read to a caller without a credential that may be a page in a browser.
var ErrPage = errors.New(
	"a caller without a credential that may be a page in a browser starts no reading of the whole log")

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

// mayReadLog checks which callers may read the log: any page can make a browser ask, without a credential where none is
// needed.
func (c *Caller) mayReadLog(q Query) error {
	if c.Anonymous && !c.Program && q.ReadsLog() {
		return ErrPage
	}
	return nil
}

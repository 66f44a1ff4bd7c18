package service

import "errors"

// Query names a read, in the same way at every interface: "session-info". This file decides which queries a session may
// use after its end, and who may use each.
type Query string

// queryRule holds the properties of a query. A query that is not listed, including one added later, has none of them.
type queryRule struct {
	// rows are the rows of the permission table that permit the query: one of them, depending on the request. A caller
	// that may use none of them is refused.
	rows []string
	// past says that it can be answered from a past state.
	past bool
	// afterEnd says that a session may use the query after its end: about itself, its own tasks, its own questions and
	// mail. The query itself checks, with [View.Own], whose session, task or question it is.
	afterEnd bool
	// readsLog says that the query's work grows with the log. Tests bound every other query to a few messages.
	readsLog bool
	// inPages says that the query's list always comes in pages, requested or not.
	inPages bool
}

var queryRules = map[Query]queryRule{
	"whoami":                {rows: one("whoami"), afterEnd: true},
	"commands":              {rows: one("commands"), afterEnd: true},
	"command-check":         {rows: one("commands"), afterEnd: true},
	"project-list":          {rows: one("project:list"), past: true},
	"project-get":           {rows: one("project:get"), past: true},
	"project-status":        {rows: one("status"), past: true},
	"project-tree":          {rows: one("task:tree"), inPages: true, past: true},
	"task-list":             {rows: one("task:list"), past: true},
	"task-get":              {rows: one("task:get"), afterEnd: true, past: true},
	"task-children":         {rows: one("task:children"), past: true},
	"task-tree":             {rows: one("task:tree"), past: true},
	"task-timeline":         {rows: one("task:get"), inPages: true, past: true},
	"session-list":          {rows: one("session:list"), past: true},
	"session-info":          {rows: one("session:info"), afterEnd: true, past: true},
	"session-timeline":      {rows: one("session:info"), afterEnd: true, inPages: true, past: true},
	"session-manifest":      {rows: []string{"whoami", "manifest:show"}, afterEnd: true},
	"session-workflow":      {rows: []string{"whoami", "manifest:show"}, afterEnd: true},
	"session-mail":          {rows: []string{"whoami", "input:wait", "session:info"}, afterEnd: true},
	"session-credential":    {rows: []string{"session:spawn", "whoami"}},
	"runner-work":           {rows: one("session:claim")},
	"runner-list":           {rows: one("runner:list")},
	"runner-credential":     {rows: []string{"session:spawn", "whoami"}},
	"session-queue":         {rows: one("queue:list"), past: true},
	"session-queue-items":   {rows: one("queue:list"), past: true},
	"queue-names":           {rows: one("queue:status"), inPages: true, past: true},
	"queue-list":            {rows: one("queue:list"), past: true},
	"queue-top":             {rows: one("queue:top"), past: true},
	"queue-next":            {rows: one("queue:top"), past: true},
	"input-list":            {rows: []string{"input:list", "whoami"}, afterEnd: true, inPages: true, past: true},
	"input-get":             {rows: []string{"input:list", "whoami"}, afterEnd: true, past: true},
	"inbox":                 {rows: one("inbox"), inPages: true, past: true},
	"inbox-count":           {rows: one("inbox"), past: true},
	"live":                  {rows: one("watch")},
	"since":                 {rows: one("since"), readsLog: true},
	"events":                {rows: one("events"), readsLog: true, past: true},
	"events-histogram":      {rows: one("events"), past: true},
	"why":                   {rows: one("why")},
	"template-list":         {rows: one("template:list"), past: true},
	"template-get":          {rows: one("template:get"), past: true},
	"template-role":         {rows: one("template:list"), past: true},
	"template-default":      {rows: one("template:get")},
	"skill-list":            {rows: one("template:list")},
	"skill-role":            {rows: one("template:list")},
	"skill-get":             {rows: one("template:get")},
	"manifest-schema":       {rows: one("manifest:schema")},
	"blob":                  {rows: one("whoami")},
	"clock":                 {},
	"login-list":            {rows: one("token:list")},
	"token-list":            {rows: one("token:list"), inPages: true},
	"webhook-list":          {rows: one("webhook:list"), inPages: true},
	"webhook-get":           {rows: one("webhook:get")},
	"webhook-secret":        {rows: one(RowOfWebhookSecret)},
	"audit-head":            {rows: one("audit:head")},
	"audit-denials":         {rows: one("audit:denials"), inPages: true},
	"audit-unauthenticated": {rows: one("audit:denials")},
	"audit-limits":          {rows: one("audit:denials")},
	"metrics":               {rows: one("audit:denials")},
	"audit-can":             {rows: one("audit:can")},
	"audit-export":          {rows: one("audit:export"), readsLog: true},
	"audit-verify":          {rows: one("audit:verify"), readsLog: true},
	"audit-texts":           {rows: one("audit:verify"), readsLog: true},
	"backup":                {rows: one("audit:export"), readsLog: true},
}

func one(row string) []string { return []string{row} }

// Rows returns the rows of the permission table that permit a query: one of them, depending on the request; none if
// everybody may use it.
func (q Query) Rows() []string { return queryRules[q].rows }

// ReadsLog reports whether the work of a query grows with the log.
func (q Query) ReadsLog() bool { return queryRules[q].readsLog }

// HasPast reports whether a query can be answered from a past state.
func (q Query) HasPast() bool { return queryRules[q].past }

// InPages reports whether a query's list always comes in pages, requested or not.
func (q Query) InPages() bool { return queryRules[q].inPages }

// ErrPage refuses a long read to a caller without a credential that may be a page in a browser.
var ErrPage = errors.New(
	"a caller without a credential, which may be a page in a browser, may not read the whole log")

// Ask declares the query of a call, and refuses a query that the caller may not use at all: to a session that has
// ended, what is not its own; to a caller that may be a page in a browser, a long read. Every Look that follows is for
// this query.
func (s *Service) Ask(c *Caller, q Query) error {
	c.asks = q
	if err := s.mayLook(c); err != nil {
		return err
	}
	return c.mayReadLog(q)
}

// afterEndRows are the rows of the table that a session uses after its end. It waits for nothing then.
func afterEndRows() map[string]bool {
	rows := map[string]bool{}
	for _, rule := range queryRules {
		if rule.afterEnd {
			for _, row := range rule.rows {
				rows[row] = row != "input:wait"
			}
		}
	}
	return rows
}

// mayLook refuses to show a session that has ended what it may no longer read; without a query that is everything.
func (s *Service) mayLook(c *Caller) (err error) {
	if !c.Ended || queryRules[c.asks].afterEnd {
		return nil
	}
	return s.AfterEnd(c, readsProject)
}

func (v View) mayLookAfterEnd() error {
	if queryRules[v.Caller.asks].afterEnd {
		return nil
	}
	return v.AfterEnd(readsProject)
}

// readsProject is the row that reads the project.
const readsProject = "status"

// isPage reports whether the caller may be a page in a browser.
func (c *Caller) isPage() bool { return c.Anonymous && !c.Program }

// mayReadLog checks which callers may read the log: where no credential is needed, any page can make a browser ask.
func (c *Caller) mayReadLog(q Query) error {
	if c.isPage() && q.ReadsLog() {
		return ErrPage
	}
	return nil
}

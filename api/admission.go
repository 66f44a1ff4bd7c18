package api

import (
	"context"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

// Admission stands before permission: it decides nothing and records no refusal, and nothing of it is in the log.
// Whoever is over a limit gets 429 with Retry-After; nothing has happened, and the same request may be sent again.

// admission is what a request holds of the accounts that it counts against.
type admission struct {
	ledger *ledger
	// credential is the caller's account, project that of a session's project or nil.
	credential, project *account
	// counted is which of its resources the call is in.
	counted resource
	// answered are the bytes that it has rendered and not yet written, brought those of its body.
	answered, brought int64
	// paidBytes are those that it paid for before its body came.
	paidBytes int64
}

// admit lets a call in, or says which limit it is over. Who is let in must leave.
func (s *server) admit(c *call, r *http.Request) error {
	a := &c.admission
	a.ledger = s.ledger
	a.credential = s.ledger.hold(classOf(c.by), accountName(c.by))
	if c.by.Kind == commands.ActorSession && c.by.Project != "" && !c.ended {
		a.project = s.ledger.hold(ofProject, c.by.Project)
	}
	a.counted = s.countedAs(r)
	if c.ended { // it may neither wait nor read the log, so it takes no place of who does
		a.counted = useParallel
	}
	d := demandOf(r)
	if d[useSpawns] > 0 && (isDryRun(r) || s.permit(c, "session:spawn", c.by.Project) != nil) {
		d[useSpawns] = 0
	}
	a.paidBytes = int64(d[useBytes])
	over := a.pay(d)
	if over == nil {
		over = a.enter(r.Context())
	}
	if over == nil {
		return nil
	}
	a.letGo()
	return s.tooMuch(c.by.String(), over)
}

// accountName gives the name of a caller's account.
func accountName(by commands.Actor) string { return string(by.Kind) + " " + by.Name }

// classOf gives the class of a caller: an agent is bound more tightly than the user.
func classOf(by commands.Actor) class {
	switch {
	case by.Kind == commands.ActorUser && by.Access == commands.AccessAdmin:
		return ofAdmin
	case by.Kind == commands.ActorUser:
		return ofReader
	}
	return ofSession
}

// countedAs gives what a call is counted as while it is in progress. The route decides, so no query makes a call into
// one that there may be more of.
func (s *server) countedAs(r *http.Request) resource {
	route := s.routeOf(r)
	switch {
	case longReads[route]:
		return useStreams
	case waits[route] && r.URL.Query().Get("wait") != "":
		return useWaits
	}
	return useParallel
}

func isDryRun(r *http.Request) bool {
	return r.URL.RawQuery != "" && r.URL.Query().Get("dryRun") == "true"
}

// demand is how much of each rate a request uses.
type demand [rates]float64

func demandOf(r *http.Request) (d demand) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		d[useReads] = 1
		return d
	}
	d[useCommands] = 1
	d[useBytes] = float64(r.ContentLength)
	if r.ContentLength < 0 { // it says so only by ending
		d[useBytes] = maxRequest
	}
	switch r.URL.Path {
	case commandsPath + "session:spawn", "/api/sessions/spawn", "/api/sessions":
		d[useSpawns] = 1
	}
	return d
}

// pay uses the rates of the caller and of its project, all or none.
func (a *admission) pay(d demand) *overLimit {
	for _, account := range []*account{a.credential, a.project} {
		if account == nil {
			continue
		}
		for r, n := range d {
			over := a.ledger.take(account, resource(r), n)
			if over == nil {
				continue
			}
			a.refund(d, account, r)
			return over
		}
	}
	return nil
}

// refund gives back what was paid before the payment that failed.
func (a *admission) refund(d demand, failed *account, at int) {
	for r, n := range d {
		if failed == a.project {
			a.ledger.giveBack(a.credential, resource(r), n)
		}
		if r < at {
			a.ledger.giveBack(failed, resource(r), n)
		}
	}
}

// enter counts the call among those in progress.
func (a *admission) enter(ctx context.Context) *overLimit {
	if a.counted == useParallel {
		return a.ledger.beginInTurn(ctx, a.credential)
	}
	accounts := a.counting()
	for i, account := range accounts {
		if over := a.ledger.beginOf(a.credential.class, account, a.counted, 1); over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, a.counted, 1)
			}
			return over
		}
	}
	return nil
}

// counting are the accounts that what is in use counts against.
func (a *admission) counting() []*account {
	if a.project == nil {
		return []*account{a.credential, a.ledger.server}
	}
	return []*account{a.credential, a.project, a.ledger.server}
}

// leave ends what admit began.
func (a *admission) leave() {
	if a.counted == useParallel {
		a.ledger.end(a.credential, useParallel, 1)
	} else {
		for _, account := range a.counting() {
			a.ledger.end(account, a.counted, 1)
		}
	}
	if a.answered > 0 {
		a.free(a.answered)
	}
	if held := a.brought - freeBody; held > 0 {
		for _, account := range a.counting() {
			a.ledger.end(account, useBodies, held)
		}
	}
	a.letGo()
}

func (a *admission) letGo() {
	a.ledger.letGo(a.credential)
	if a.project != nil {
		a.ledger.letGo(a.project)
	}
}

// freeBody is how much of each body counts for nothing, so that a short command gets in whatever others send. The limit
// of connections bounds it.
const freeBody = 16 << 10

// bring counts bytes of a body that have come, until the call ends: against the budgets of the caller, of its project
// and of the server. What was not announced is paid for as it comes.
func (a *admission) bring(n int64) *overLimit {
	counted := max(a.brought+n-freeBody, 0) - max(a.brought-freeBody, 0)
	accounts := a.counting()
	for i, account := range accounts {
		if counted == 0 {
			break
		}
		if over := a.ledger.beginOf(a.credential.class, account, useBodies, counted); over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, useBodies, counted)
			}
			return over
		}
	}
	a.brought += n
	if unpaid := a.brought - max(a.paidBytes, a.brought-n); unpaid > 0 {
		a.ledger.charge(a.credential, useBytes, float64(unpaid))
		if a.project != nil {
			a.ledger.charge(a.project, useBytes, float64(unpaid))
		}
	}
	return nil
}

// brings is bring, with the answer to who is over a limit.
func (s *server) brings(c *call, n int64) error {
	if over := c.admission.bring(n); over != nil {
		return s.tooMuch(c.by.String(), over)
	}
	return nil
}

// render counts bytes of an answer that the caller has not read yet, against its own budget and the server's.
func (a *admission) render(n int64) *overLimit {
	for i, account := range []*account{a.credential, a.ledger.server} {
		if over := a.ledger.beginOf(a.credential.class, account, useAnswers, n); over != nil {
			if i > 0 {
				a.ledger.end(a.credential, useAnswers, n)
			}
			return over
		}
	}
	a.answered += n
	return nil
}

// renderAnyway is render for what is written already, or must be answered.
func (a *admission) renderAnyway(n int64) {
	a.answered += n
	a.ledger.add(a.credential, useAnswers, n)
	a.ledger.add(a.ledger.server, useAnswers, n)
}

// free ends the count of rendered bytes.
func (a *admission) free(n int64) {
	a.answered -= n
	a.ledger.end(a.credential, useAnswers, n)
	a.ledger.end(a.ledger.server, useAnswers, n)
}

// sent charges a reader for a long answer.
func (a *admission) sent(n int64) {
	if units := float64(n / bytesPerUnit); units > 0 {
		a.ledger.charge(a.credential, useReads, units)
	}
}

// admitNobody lets the call of nobody through to its refusal, unless there are too many.
func (s *server) admitNobody(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	account := s.ledger.hold(ofAddress, host)
	defer s.ledger.letGo(account)
	over := s.ledger.take(account, useCalls, 1)
	if over == nil {
		over = s.ledger.take(s.ledger.server, useCalls, 1)
	}
	if over != nil {
		return s.tooMuch("address "+host, over)
	}
	return nil
}

// heldBack is how long the answer to a call over a limit is held back. Without that, who calls again at once would
// cost as much as a call that is let in; held back, a connection gives one such call a second. It is one that the
// listener may close to make room.
const heldBack = time.Second

func holdBack(ctx context.Context) {
	timer := time.NewTimer(heldBack)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tooMuch is the answer to who is over a limit.
func (s *server) tooMuch(who string, over *overLimit) *problem {
	s.limited.note(s, who, over.quota.Name)
	s.ledger.refuse(over.quota.Name)
	seconds := max(1, int(math.Ceil(over.after.Seconds())))
	p := &problem{
		status: http.StatusTooManyRequests, Code: "RATE_LIMITED", Message: tooMany(who, over.quota.Name),
		Why:     "the limit " + over.quota.Name + " is " + over.quota.String() + ": " + over.quota.About,
		Next:    "nothing has happened: send it again in " + strconv.Itoa(seconds) + " s",
		Details: limitDetails{over.quota.Name, over.quota.Value, over.quota.Burst, seconds},
		headers: http.Header{"Retry-After": {strconv.Itoa(seconds)}},
	}
	if over.class == ofServer {
		p.Message = "The server has too many calls at once"
	}
	return p.complete()
}

// tooMany says of whom there is too much of what; the name of a quota ends with that.
func tooMany(who, quota string) string {
	whose, what, _ := strings.Cut(quota, "-")
	said, ok := map[string]string{
		"commands": "sent too many commands",
		"bytes":    "sent too many bytes",
		"reads":    "made too many reads",
		"spawns":   "spawned too many sessions",
		"parallel": "too many calls in progress",
		"waits":    "too many calls waiting",
		"streams":  "too many streams open",
		"answers":  "too many answers unread",
	}[what]
	if !ok {
		said = "made too many calls"
	}
	if whose == "project" {
		return "The sessions of the project have " + said
	}
	return strings.ToUpper(who[:1]) + who[1:] + " has " + said
}

type limitDetails struct {
	Limit      string  `json:"limit"`
	Value      float64 `json:"value"`
	Burst      float64 `json:"burst,omitempty"`
	RetryAfter int     `json:"retryAfter"`
}

// limitedLog says in the log that calls are refused: at most once a second, with how many.
type limitedLog struct {
	mu      sync.Mutex
	said    time.Time
	skipped int
}

func (l *limitedLog) note(s *server, who, limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped++
	if now := time.Now(); now.Sub(l.said) >= time.Second {
		s.Logger.Warn("rate-limited", "who", who, "limit", limit, "refused", l.skipped)
		l.said, l.skipped = now, 0
	}
}

// within holds a command against the quotas of what there is: open questions, tasks, sessions. A retry of what was
// done is let through. So is a command that is not permitted: its refusal is decided and recorded, and a quota tells
// nothing about another's project.
func (s *server) within(ctx context.Context, request engine.Request) error {
	var over *overLimit
	s.Handler.View(func(state *projections.State) {
		project := request.Project(state)
		p := state.Project(project)
		if p == nil {
			return
		}
		over = s.stock(state, p, request)
		if over == nil {
			return
		}
		refused := commands.Permit(state, commands.CurrentRules(), request.By, request.Command.ID(), project)
		if refused != nil || request.Known(state) {
			over = nil
		}
	})
	if over == nil {
		return nil
	}
	if classOf(request.By) != ofAdmin {
		holdBack(ctx)
	}
	answer := s.tooMuch(request.By.String(), over)
	answer.Code, answer.Message = "QUOTA_EXCEEDED", "There are too many "+over.quota.About
	answer.Next = "nothing has happened: end what is no longer needed, or let the user raise the limit with " +
		"`serve --limit " + over.quota.Name + "=N`"
	return answer
}

// whenLess is when to try again what waits for others to end something.
const whenLess = time.Minute

// stock gives the quota of what there is that a command is over.
func (s *server) stock(state *projections.State, p *projections.Project, request engine.Request) *overLimit {
	over := func(name string, have int) *overLimit {
		if q := s.Limits.quota(name); q.Value > 0 && float64(have+1) > q.Value {
			return &overLimit{ofProject, q, whenLess}
		}
		return nil
	}
	switch c := request.Command.(type) {
	case *commands.CreateTask:
		return over("project-tasks", p.Tasks)
	case *commands.SpawnSession:
		return s.room(state, p)
	case *commands.RegisterSession:
		if state.Session(c.SessionID) == nil && request.By.Kind != commands.ActorSession {
			return s.room(state, p)
		}
	case *commands.Report:
		if !c.Asks() {
			return nil
		}
		all, own := 0, 0
		for x := range state.Unanswered(p.ID) {
			all++
			if request.By.Kind == commands.ActorSession && x.SessionID == request.By.Name {
				own++
			}
		}
		if over := over("session-questions", own); over != nil {
			return over
		}
		return over("project-questions", all)
	}
	return nil
}

// room gives the quota of sessions if a project has as many as it may. It counts only where there may be too many.
func (s *server) room(state *projections.State, p *projections.Project) *overLimit {
	q := s.Limits.quota("project-sessions")
	if q.Value == 0 || float64(p.Sessions) < q.Value {
		return nil
	}
	alive := 0
	for x := range state.Sessions(p.ID) {
		if !x.Ended() {
			alive++
		}
	}
	if float64(alive) < q.Value {
		return nil
	}
	return &overLimit{ofProject, q, whenLess}
}

// CanLimit is a limit that a command counts against, as it stands.
type CanLimit struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Left is how much of it is left now.
	Left int64 `json:"left"`
}

// limitsOf gives the limits that a command of an actor counts against.
func (s *server) limitsOf(by commands.Actor, row commands.Row) []CanLimit {
	used := []resource{useReads}
	if row.Write {
		used = []resource{useCommands}
	}
	if row.ID == "session:spawn" {
		used = append(used, useSpawns)
	}
	limits := []CanLimit{}
	add := func(c class, name string, r resource) {
		q := s.ledger.quotas[c][r]
		if q.Value == 0 {
			return
		}
		account := s.ledger.hold(c, name)
		defer s.ledger.letGo(account)
		limits = append(limits, CanLimit{q.Name, q.String(), q.Value, q.Burst, int64(s.ledger.left(account, r))})
	}
	if by.Kind == commands.ActorSystem {
		return limits
	}
	for _, r := range append(used, useParallel) {
		add(classOf(by), accountName(by), r)
		if by.Kind == commands.ActorSession && by.Project != "" {
			add(ofProject, by.Project, r)
		}
	}
	return limits
}

// LimitView shows a limit as it counts.
type LimitView struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Refused counts the calls that were over it since the server started.
	Refused uint64 `json:"refused"`
	About   string `json:"about"`
}

func listLimits(v view, _ *struct{}) ([]LimitView, error) {
	if err := v.permit("audit:denials", ""); err != nil {
		return nil, err
	}
	views := make([]LimitView, 0, len(quotas))
	for _, q := range quotas {
		q = v.server.Limits.quota(q.Name)
		views = append(views, LimitView{q.Name, q.String(), q.Value, q.Burst, v.server.ledger.refusals(q.Name), q.About})
	}
	return views, nil
}

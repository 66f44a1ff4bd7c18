package simulation

const (
	writer  = "engine/writer.go"
	decide  = "engine/decide.go"
	overlap = "engine/overlap.go"
	handler = "engine/handler.go"
	catchUp = "engine/catchup.go"
	opens   = "engine/open.go"
	rules   = "commands/rules.go"
	permit  = "commands/permit.go"

	queues     = "commands/queue.go"
	leases     = "engine/leases.go"
	clocks     = "internal/clock/clock.go"
	deadlines  = "commands/deadline.go"
	inputs     = "commands/input.go"
	messages   = "commands/message.go"
	notices    = "commands/notice.go"
	causes     = "commands/cause.go"
	denials    = "engine/denials.go"
	denial1    = "engine/denial.go"
	shares     = "engine/denialshares.go"
	foldQueue  = "projections/queue.go"
	foldAgain  = "projections/requeue.go"
	finishes   = "commands/queuefinish.go"
	returns    = "commands/queuereturn.go"
	foldReturn = "projections/queuereturn.go"
	foldNeeds  = "projections/dependencies.go"
	foldReach  = "projections/reach.go"
	foldSettle = "projections/settle.go"
	foldLook   = "projections/look.go"
	begins     = "commands/init.go"
	spawns     = "commands/spawn.go"
	reports    = "commands/report.go"
	places     = "commands/taskplace.go"
	changes    = "commands/taskchange.go"
	runs       = "commands/run.go"
	bounds     = "commands/spawnwithin.go"
	overdue    = "engine/overdue.go"
)

// afterAppend plants something between the append and what follows from it.
func afterAppend(text string) []edit {
	return []edit{{writer, "		err := h.append(ctx, d)\n", "		err := h.append(ctx, d)\n" + text}}
}

// beforeAppend plants something between the decision and the append.
func beforeAppend(text string) []edit {
	return []edit{{writer, "		err := h.append(ctx, d)\n", text + "		err := h.append(ctx, d)\n"}}
}

// answerEarly answers the results r that meet a condition before the state that they are based on is committed.
func answerEarly(condition string) []edit {
	return append([]edit{
		{
			writer, "		h.answer(d.batch[i], d.results[i])\n",
			"		if len(d.batch[i].done) == 0 {\n			h.answer(d.batch[i], d.results[i])\n		}\n",
		},
		{
			writer, "	for _, p := range batch {\n		p.done <- result{err: err}\n	}\n",
			"	for _, p := range batch {\n		select {\n		case p.done <- result{err: err}:\n" +
				"		default:\n		}\n	}\n",
		},
	}, beforeAppend("		for i, r := range d.results {\n			if "+condition+
		" {\n				select {\n				case d.batch[i].done <- r:\n				default:\n"+
		"				}\n			}\n		}\n")...)
}

// row widens or narrows a row of the permission table.
func row(id, who, to string) edit {
	return edit{rules, `{ID: "` + id + `", Who: ` + who + `,`, `{ID: "` + id + `", Who: ` + to + `,`}
}

// longRow is row for a row with one field a line.
func longRow(id, who, to string) edit {
	begin := "ID:    \"" + id + "\",\n\t\t\tWho:   "
	return edit{rules, begin + who + ",", begin + to + ","}
}

// plants are the bugs that the simulation must find.
var plants = []plant{
	// The writer and the log.
	{
		"a refused batch is appended to the new head without a new decision",
		afterAppend(`		for errors.Is(err, events.ErrConflict) {
			head, failed := h.config.Log.Sync(ctx)
			if failed != nil {
				break
			}
			err = h.config.Log.Append(ctx, head, d.messages)
		}
`),
	},
	{
		"a batch is appended event by event, even after one was refused",
		[]edit{{writer, appendOnce, `	var failed error
	for i := range d.messages {
		if err := h.config.Log.Append(ctx, d.ground+uint64(i), d.messages[i:i+1]); err != nil {
			failed = err
		}
	}
	return failed
`}},
	},
	{"the overlay is kept after a failed append", []edit{
		{writer, "	h.overlay.Drop()\n	switch {\n", "	switch {\n"},
		{catchUp, "	var read []events.Message\n	h.overlay.Drop()\n", "	var read []events.Message\n"},
	}},
	{"an event is answered before it is committed", answerEarly("r.answer.Event != nil && !r.answer.Retried")},
	{"a recognised retry is answered before its event is committed", answerEarly("r.answer.Retried")},
	{"a refusal is answered before the state it is based on is committed", answerEarly("r.err != nil")},
	{
		"\"already so\" is answered before the state it is based on is committed",
		answerEarly("r.err == nil && r.answer.Event == nil && r.retryOf == 0"),
	},
	{
		"the head file is written before the commit",
		beforeAppend(
			"		if h.config.Witness != nil {\n			h.config.Witness.Record(h.overlay.Head())\n		}\n"),
	},
	{"a batch's commands are decided on the state before the batch", []edit{
		{decide, "commands.Decide(h.overlay, p.Command, call)", "commands.Decide(h.committed, p.Command, call)"},
	}},
	{
		"a batch's permissions are checked on the state before the batch",
		[]edit{{
			decide, "PermitCommand(h.overlay, commands.CurrentRules(),",
			"PermitCommand(h.committed, commands.CurrentRules(),",
		}},
	},
	{"a refusal is based on less than another server acknowledged", []edit{{
		writer, "if !h.config.Shared ||",
		"if true ||",
	}}},
	{
		"views show events before the commit",
		beforeAppend("		h.mu.Lock()\n		h.overlay.Commit()\n		h.mu.Unlock()\n"),
	},
	{
		"an unknown outcome is treated as a success",
		afterAppend("		if errors.Is(err, events.ErrUnknown) {\n			err = nil\n		}\n"),
	},
	{"an unknown outcome is treated as a failure", afterAppend(`		if errors.Is(err, events.ErrUnknown) {
			h.overlay.Drop()
			return refuseAll(batch, &commands.Refusal{Code: commands.CodeRule, Message: "it could not be stored"})
		}
`)},
	{
		"events found in the log are acknowledged without a sync",
		afterAppend(`		if errors.Is(err, events.ErrUnknown) {
			last := d.ground + uint64(len(d.messages))
			skip := func(events.Message) error { return nil }
			if h.config.Log.Read(ctx, d.ground+1, last, skip) == nil {
				err = nil
			}
		}
`),
	},
	{
		"a full disk is treated as a success",
		afterAppend("		if errors.Is(err, events.ErrFull) {\n			err = nil\n		}\n"),
	},
	{"the server stays in doubt after it has caught up", []edit{{catchUp, "		h.doubt = nil\n", ""}}},
	{
		"only the first command of a failed batch is answered",
		[]edit{{
			writer, "	for _, p := range batch {\n		p.done <- result{err: err}\n	}\n",
			"	for _, p := range batch[:1] {\n		p.done <- result{err: err}\n	}\n",
		}},
	},
	{"commands that do not fit into a batch are never answered", []edit{{
		decide, "	return n\n}\n",
		"	return len(waiting)\n}\n",
	}}},
	{
		"a commit does not wake callers that wait for a sequence",
		[]edit{{
			writer, "		h.overlay.Commit()\n		h.wakeWaiting(d.effects)\n",
			"		h.overlay.Commit()\n",
		}},
	},
	{"catching up does not wake callers that wait for a sequence", []edit{{
		catchUp,
		"	h.wakeWaiting(effects)\n	h.unlockState()\n	if len(read)", "	h.unlockState()\n	if len(read)",
	}}},

	{
		"completing a dependency does not wake callers that wait for a queue",
		[]edit{{
			"engine/feed.go",
			"	for _, queue := range h.overlay.LinesMoved() {\n", "	for _, queue := range []string{} {\n",
		}},
	},
	{
		"another server's events do not wake waiting callers",
		[]edit{{
			catchUp, "		h.note(effects, m.Sequence, m.Body, hash, event, changes)\n",
			"		_, _ = hash, changes\n",
		}},
	},
	{
		"a session's end does not wake a caller that waits for its answer",
		[]edit{{"engine/await.go", "	case *events.SessionKilled:\n		e.touchSession(d.SessionID)\n", ""}},
	},

	// The batch that is decided while another is being appended.
	{"a commit also shows what was decided after it", []edit{{
		"projections/state.go", "	if !s.isSealed {\n		s.Seal()\n	}\n",
		"	s.isSealed = false\n	for _, layer := range s.layers {\n		layer.settle()\n	}\n	s.Seal()\n",
	}}},
	{"the next batch is decided without the one that is being appended", []edit{{
		"projections/table.go", "if value, ok = t.sealed[id]; !ok {", "if true {",
	}}},
	{"a retry of an event that is being appended is not recognised", []edit{{
		"projections/state.go", "if sequence, ok = s.freshSealed[id]; ok {",
		"if sequence, ok = s.freshSealed[id]; ok && false {",
	}}},
	{"what was decided on a failed batch is kept", []edit{{
		"projections/table.go", "	clear(t.rows)\n	clear(t.sealed)\n", "	clear(t.sealed)\n",
	}}},
	{"commands decided on a failed batch are forgotten", []edit{{
		overlap, "slices.Concat(d.batch, next.batch, waiting)", "slices.Concat(d.batch, waiting)",
	}}},
	{"the next batch is answered with the one before it", []edit{{
		overlap, "		h.answerAll(d)\n",
		"		h.answerAll(d)\n		if appending {\n			h.answerAll(next)\n" +
			"			next.batch, next.results = nil, nil\n		}\n",
	}}},
	{"refusals of the next batch are answered at once", []edit{
		{
			writer, "		h.answer(d.batch[i], d.results[i])\n",
			"		if len(d.batch[i].done) == 0 {\n			h.answer(d.batch[i], d.results[i])\n		}\n",
		},
		{
			overlap, "		waiting, err = h.decideMeanwhile(next, waiting)\n",
			"		waiting, err = h.decideMeanwhile(next, waiting)\n		for i, r := range next.results {\n" +
				"			if r.err != nil {\n				next.batch[i].done <- r\n			}\n		}\n",
		},
		{
			writer, "	for _, p := range batch {\n		p.done <- result{err: err}\n	}\n",
			"	for _, p := range batch {\n		select {\n		case p.done <- result{err: err}:\n" +
				"		default:\n		}\n	}\n",
		},
	}},
	{"the next batch is appended after a failed one", []edit{{
		overlap, "		if err != nil {\n",
		"		if err != nil && len(next.messages) > 0 && !h.damaged() {\n" +
			"			_ = h.append(ctx, next)\n		}\n		if err != nil {\n",
	}}},
	{"the next batch wakes those that wait for the one before it", []edit{{
		overlap, "		h.show(d)\n",
		"		d.effects, next.effects = next.effects, d.effects\n		h.show(d)\n",
	}}},

	// Retries.
	{"a retry is not recognised", []edit{{
		decide, "if sequence, ok := h.overlay.Accepted(id); ok {",
		"if sequence, ok := h.overlay.Accepted(id); ok && false {",
	}}},
	{"a retry in the same batch is not recognised", []edit{{
		decide, "if sequence, ok := h.overlay.Accepted(id); ok {",
		"if sequence, ok := h.committed.Accepted(id); ok {",
	}}},
	{"a commit loses the overlay's event ids", []edit{{
		"projections/state.go",
		"		s.under.accepted.add(&s.sealed.ids, sequence)\n", "		_ = sequence\n",
	}}},
	{"a reused key with another body is treated as a retry", []edit{{
		handler, "if event.RequestHash != p.hash {",
		"if false {",
	}}},
	{"all callers share their idempotency keys", []edit{{
		decide, "id := eventID(p.source, p.By, project, p.Command.ID(), p.Key)",
		"id := events.ID(\"\", project, p.Command.ID(), p.Key)",
	}}},
	{"a later token of a reused name shares the keys of the earlier one", []edit{{
		"engine/known.go", "by.Generation > 1 {", "by.Generation > 1000 {",
	}}},
	{"a retry is answered with the event before its own", []edit{{
		decide, "return result{retryOf: sequence}",
		"return result{retryOf: max(sequence, 2) - 1}",
	}}},

	// The fold, the chain and time.
	{"catching up applies an event twice", []edit{{
		catchUp, "h.config.Log.Read(ctx, ground+1, head, func",
		"h.config.Log.Read(ctx, max(ground, 1), head, func",
	}}},
	{"catching up skips an event", []edit{{
		catchUp, "h.config.Log.Read(ctx, ground+1, head, func",
		"h.config.Log.Read(ctx, ground+1, max(head, 1)-1, func",
	}}},
	{"a commit forgets the sessions that it changed", []edit{{
		"projections/state.go",
		"	clear(s.freshSealed)\n	for _, layer := range s.layers {\n		layer.settle()\n",
		"	clear(s.freshSealed)\n	clear(s.sessions.sealed)\n	for _, layer := range s.layers {\n" +
			"		layer.settle()\n",
	}}},
	{"every event has the prevhash of the first one", []edit{{
		decide, "PrevHash:    s.Head().Hash,", "PrevHash: s.Genesis(),",
	}}},
	{"a chain hash leaves out the hash before it", []edit{{
		"projections/withheld.go", "Hash: events.Next(prev, body)}",
		"Hash: events.Next(s.genesis, body)}",
	}}},
	{"the fold reads the clock", []edit{{
		"projections/state.go", "at: e.Time.UnixMilli()}",
		"at: time.Now().UnixMilli()}",
	}}},
	{"an event's time follows a clock that goes back", []edit{{
		decide, "at.Before(last) {", "at.Before(last) && false {",
	}}},
	{"an event's time follows a clock that goes back, and the fold accepts it", []edit{
		{decide, "at.Before(last) {", "at.Before(last) && false {"},
		{"projections/state.go", "if e.Time.Before(s.at) {", "if false {"},
	}},

	{"the clock follows a wall clock that jumps", []edit{{
		clocks, "c.jumped = c.moved.Abs() > Tolerance",
		"c.jumped = false",
	}}},
	{"the clock stops until the wall clock has caught up", []edit{{
		clocks, "	passed := max(boot-c.at, 0)\n",
		"	passed := min(boot-c.at, 0)\n",
	}}},
	{"the clock does not continue from the log's time", []edit{{
		handler, "	if h.config.Follow != nil {\n",
		"	if h.config.Follow != nil && false {\n",
	}}},

	// Snapshots, witnesses, damage.
	{"a snapshot's sequence is off by one", []edit{{
		"engine/snapshots.go", "		Head:     image.Head(),\n",
		"			Head:    events.Head{Sequence: image.Head().Sequence - 1, Hash: image.Head().Hash},\n",
	}}},
	{"the fold skips the first event after the snapshot", []edit{{
		opens, "from := state.Head().Sequence + 1\n",
		"from := state.Head().Sequence + 1\n	if from > 1 {\n		from++\n	}\n",
	}}},
	{"a snapshot leaves out the id of the last event", []edit{{
		"projections/segment.go",
		"		s.accepted.add(&s.ids, s.ids.n)\n",
		"		if s.ids.n < last {\n			s.accepted.add(&s.ids, s.ids.n)\n		}\n",
	}}},
	{
		"a damaged snapshot is trusted",
		[]edit{{
			opens, "if err != nil || state.Head() != snapshot.Head || state.Genesis() != snapshot.Genesis {",
			"if err != nil {",
		}},
	},
	{"another log's snapshot is used", []edit{{
		opens, "if genesis != snapshot.Genesis {",
		"if genesis.IsZero() {",
	}}},
	{
		"a log that contradicts a snapshot is not reported",
		[]edit{{
			opens,
			"		return nil, err\n	}\n	if snapshot.Format > projections.Format {\n",
			"		return nil, nil\n	}\n	if snapshot.Format > projections.Format {\n",
		}},
	},
	{"the head file is ignored", []edit{{opens, "	if l.Witness == nil {\n", "	if true {\n"}}},
	{"the head file's hash is ignored", []edit{{opens, "if hash != seen.Hash {", "if false {"}}},
	{
		"events before a snapshot are never checked",
		[]edit{{handler, "if opened.from.Sequence > 0 && h.damage == nil {", "if false {"}},
	},
	{
		"a damaged log accepts writes",
		[]edit{{writer, "	if damage != nil {\n		return unavailable(damage)\n	}\n", "	_ = damage\n"}},
	},

	// Decisions.
	{"the limit report-words does not apply to a report's tasks", []edit{{
		"commands/report.go", "g.words(", "(graph{s: s}).words(",
	}}},
	{"the limit report-words does not apply to a pushed task's dependencies", []edit{{
		"commands/graph.go", "return g.words(", "return graph{s: g.s}.words(",
	}}},
	{"the limit report-words does not apply to a queued task's new dependencies", []edit{{
		"commands/graph.go", "open > 0 && words > g.most", "false && words > g.most",
	}}},
	{"one word more than the limit report-words is accepted", []edit{{
		"commands/graph.go", "		if words > g.most(LimitReportWords) {",
		"		if words > g.most(LimitReportWords)+1 {",
	}}},
	{"a session notes a type that is reserved for the system", []edit{{
		"commands/note.go", "	if projections.IsReserved(kind) {", "	if false {",
	}}},
	{"a report after the session's end is not marked late", []edit{{
		"commands/report.go", "	late := session.Ended()\n",
		"	late := false\n",
	}}},
	{"dependencies may form a cycle", []edit{{
		"commands/graph.go", "	if found != \"\" {\n",
		"	if found != \"\" && false {\n",
	}}},
	{"a task may wait for what waits for its parent", []edit{{
		"commands/graph.go", "	waits := projections.Waits{Parts: g.bounded, Moved: id, Parent: parent}\n",
		"	waits := projections.Waits{Moved: id, Parent: parent}\n",
	}}},
	{"a task may move below one that it waits for", []edit{{
		"commands/graph.go", "	waits := projections.Waits{Parts: true, Moved: t.ID, Parent: parent}\n",
		"	waits := projections.Waits{Moved: t.ID, Parent: parent}\n",
	}}},
	{"a project that has tasks is deleted", []edit{{
		"commands/project.go", "	if p.Tasks > 0 {\n",
		"	if p.Tasks > 1000 {\n",
	}}},
	{"only the first byte of a long text is stored", []edit{{
		handler, "h.putBlob(ctx, []byte(text))", "h.putBlob(ctx, []byte(text[:1]))",
	}}},

	// Permissions.
	{"a worker may use task:complete", []edit{
		longRow("task:complete", "RoleOrchestrator | RoleUser", "agents | RoleUser"),
	}},
	{"a queue worker may use task:update", []edit{
		longRow("task:update", "RoleOrchestrator | RoleUser", "RoleQueueWorker | RoleOrchestrator | RoleUser"),
	}},
	{"an orchestrator may use task:delete", []edit{row("task:delete", "RoleUser", "RoleOrchestrator | RoleUser")}},
	{"a tree worker may use session:spawn", []edit{
		row("session:spawn", "RoleOrchestrator | RoleUser", "RoleTreeWorker | RoleOrchestrator | RoleUser"),
	}},
	{"an orchestrator may use project:update", []edit{
		row("project:update", "RoleUser", "RoleOrchestrator | RoleUser"),
	}},
	{"a queue worker may not use task:create", []edit{
		row("task:create", "agents | RoleUser", "RoleWorker | RoleTreeWorker | RoleOrchestrator | RoleUser"),
	}},
	{"a session with the tree strategy is not told of what is decided below its tasks", []edit{{
		"commands/notice.go", "found := slices.Clone(x.byTask[up.ParentID])", "var found []string",
	}}},
	{"a user reports in a session's name", []edit{
		row("report:progress", "agents", "agents | RoleUser"), row("report:blocked", "agents", "agents | RoleUser"),
		{
			"commands/report.go", "	if c.By.Kind != ActorSession || session == nil {\n",
			"	if c.By.Kind == ActorUser {\n		for x := range s.Sessions(c.Project) {\n" +
				"			session = x\n		}\n	}\n	if session == nil {\n",
		},
	}},
	{"an orchestrator kills a session that it did not spawn", []edit{{
		"commands/session.go",
		"if c.By.Kind == ActorSession && x.SpawnedBy != c.By.Name {", "if false {",
	}}},
	{"an orchestrator may kill only sessions that it spawned itself", []edit{{
		"commands/session.go",
		"s.LedBelow(session.ID, c.By.Name)", "false",
	}}},
	{"an orchestrator kills a session above it", []edit{{
		"commands/session.go",
		"s.LedBelow(session.ID, c.By.Name)",
		"(s.LedBelow(session.ID, c.By.Name) || s.LedBelow(c.By.Name, session.ID))",
	}}},
	{"a session acts for another", []edit{{
		"commands/session.go", "if c.By.Kind == ActorSession && x.ID != c.By.Name {",
		"if false {",
	}}},
	{"an ended session continues to write", []edit{{
		permit, "if row.Write && x.Ended() && !isReport(id) {",
		"if row.Write && x.Ended() && !isReport(id) && false {",
	}}},
	{
		"a session writes in any project",
		[]edit{{
			permit, "	return p != nil && x.Role == events.RoleOrchestrator && p.CreatedBy == x.Source()",
			"	return p != nil && (x.Role == events.RoleOrchestrator || x.Role == events.RoleWorker)",
		}},
	},
	{"a session's project is not checked", []edit{{
		permit, "x.Permissions == nil || x.ProjectID != by.Project {",
		"x.Permissions == nil {",
	}}},
	{"an auditor's token may write", []edit{{
		permit, "	case by.Access == AccessAdmin:\n",
		"	case by.Access == AccessAdmin, by.Access == AccessAuditor:\n",
	}}},
	{"an orchestrator cancels a task", []edit{{
		"commands/taskstatus.go",
		"		if by.Kind == ActorUser {\n			return nil\n		}\n", "		return nil\n",
	}}},
	{"a worker reports on any task of its project", []edit{{
		"commands/report.go",
		"if session.Role == events.RoleOrchestrator || session.IsSource(t.CreatedBy)",
		"if true || session.IsSource(t.CreatedBy)",
	}}},
	{"an explicit list may contain write commands of other roles", []edit{{
		"commands/table.go", "	case row.Write:\n",
		"	case false:\n",
	}}},
	{"an explicit list leaves out the core commands", []edit{{
		"commands/table.go",
		"if row.Core && row.Who&who != 0 || named[row.ID] {", "if named[row.ID] {",
	}}},
	{"an orchestrator gives another more commands than it has", []edit{{
		spawns,
		"	if kind.role != events.RoleOrchestrator {\n		if !thirdOn", "	if true {\n		if !thirdOn",
	}}},
	{"an orchestrator gives a worker commands that neither has", []edit{{
		spawns, "		if !thirdOn(c.Rules) {\n",
		"		if thirdOn(c.Rules) {\n",
	}}},
	{"an orchestrator gives a worker all commands of an orchestrator", []edit{{
		spawns,
		"tableOf(c.Rules).Defaults(RoleSetOf(kind.role, kind.strategy))", "tableOf(c.Rules).Defaults(RoleOrchestrator)",
	}}},
	{"an orchestrator gives a worker only its own commands", []edit{{
		spawns,
		"slices.Concat(own, tableOf(c.Rules).Defaults(RoleSetOf(kind.role, kind.strategy)))", "own",
	}}},
	{"a user's spawn for a session does not name that session", []edit{{
		spawns, "	return parent.ID, nil\n",
		"	return \"\", nil\n",
	}}},
	{"a user spawns for a session of another project", []edit{{
		spawns, "if parent.ProjectID != project {",
		"if false {",
	}}},
	{"the oracle reports every user's spawn for a session as a fault", []edit{{
		"internal/oracle/spawn.go",
		"if s == nil || s.ended == endDeleted ||", "if true ||",
	}}},
	{"a late report needs no time", []edit{{
		reports, "	case c.OccurredAt.IsZero():\n",
		"	case false:\n",
	}, {
		reports, "	case c.OccurredAt.UnixMilli() < session.StartedAt:\n",
		"	case !c.OccurredAt.IsZero() && c.OccurredAt.UnixMilli() < session.StartedAt:\n",
	}}},
	{"a late report may be from after the session's end", []edit{{
		reports, "c.OccurredAt.UnixMilli() > session.EndedAt",
		"c.OccurredAt.After(c.At)",
	}}},
	{"late reports are not limited in number", []edit{{
		reports,
		"int64(session.LateReports) >= LimitLateReports.Value", "false",
	}}},
	{"one late report too many is accepted", []edit{{
		reports, "int64(session.LateReports) >= LimitLateReports.Value",
		"int64(session.LateReports) > LimitLateReports.Value",
	}}},
	{"late reports are not counted", []edit{{
		"projections/report.go", "fields.LateReports++",
		"fields.LateReports = 0",
	}}},
	{"a late report may be older than its session", []edit{{
		reports, "	case c.OccurredAt.UnixMilli() < session.StartedAt:\n",
		"	case false:\n",
	}}},
	{"late reports are not limited in bytes", []edit{{
		reports, "	case session.LateBytes+bytes > LimitLateBytes.Value:\n",
		"	case false:\n",
	}}},
	{"one long late report too many is accepted", []edit{{
		reports, "	case session.LateBytes+bytes > LimitLateBytes.Value:\n",
		"	case session.LateBytes >= LimitLateBytes.Value:\n",
	}}},
	{"the bytes of late reports are not counted", []edit{{
		"projections/report.go", "fields.LateBytes += LateBytes(d)",
		"fields.LateBytes = 0",
	}}},
	{"an orchestrator deletes a project that it did not create", []edit{{
		"commands/project.go",
		"if c.By.Kind == ActorSession && p.CreatedBy != c.By.Source() {", "if false {",
	}}},
	{"a revoked token may write", []edit{{permit, "token.Live() && ", ""}}},
	{"an expired token may write", []edit{{permit, "token.Expired(c.At.UnixMilli()) {", "token.Expired(0) {"}}},
	{"a token outlives the token that created it", []edit{{
		"commands/token.go", "cmp.Or(expires, maker.ExpiresAt), nil",
		"cmp.Or(expires, 0), nil",
	}}},
	{"the tokens that a revoked token created stay valid", []edit{{
		"projections/token.go", "range d.Children {\n		s.revoke",
		"range d.Children[:0] {\n		s.revoke",
	}}},
	{
		"only the direct children of a revoked token are revoked",
		[]edit{{"projections/token.go", "				next = append(next, token)\n", ""}},
	},
	{
		"the children of an earlier token of the same name stay valid",
		[]edit{{"projections/token.go", "for i := range of.makers() {", "for i := range of.makers()[:1] {"}},
	},
	{"the children of a token that was revoked earlier stay valid", []edit{{
		"projections/token.go", "		for i, maker := range token.makers() {\n",
		"		if !token.Live() {\n			continue\n		}\n		for i, maker := range token.makers() {\n",
	}}},
	{"a revoked token cannot be revoked again with its children", []edit{{
		"commands/token.go", "if !token.Live() && (x.KeepChildren || len(children) == 0) {", "if !token.Live() {",
	}}},
	{"a request with an earlier token of the same name is permitted", []edit{{
		permit, "token.Generation == by.Generation && ", "",
	}}},
	{"a request with a session's revoked secret is permitted", []edit{{
		permit, "	if by.Generation != 0 && by.Generation != x.Generation {\n", "	if false {\n",
	}}},
	{"a token that revokes itself may keep its children", []edit{{
		"commands/token.go", "if x.KeepChildren && len(children) > 0 &&",
		"if x.KeepChildren && len(children) < 0 &&",
	}}},
	{"a read-only token may write", []edit{{
		permit, "	case by.Access == AccessAdmin:\n",
		"	case by.Access == AccessAdmin, by.Access == AccessReadOnly:\n",
	}}},
	{"a token gives whatever access its bearer claims", []edit{{permit, " && Access(token.Kind) == by.Access", ""}}},
	{"revoking a session's secret does not change its generation", []edit{{
		"commands/token.go", "Generation: session.Generation + 1}",
		"Generation: session.Generation}",
	}}},
	{"the fold does not change the generation of a session's secret", []edit{{
		"projections/token.go",
		"x.ownFields().Generation = d.Generation", "x.ownFields().Generation = x.Generation",
	}}},

	// Webhooks.
	{"a webhook is parked before it failed for long enough", []edit{{
		"commands/webhook.go", "x.FailingFor < x.Patience ||", "x.FailingFor < x.Patience-1 ||",
	}}},
	{"a webhook is parked for failures before it was resumed", []edit{{
		"commands/webhook.go", "			x.FailingFor > c.At.UnixMilli()-hook.StartedAt {\n",
		"			x.FailingFor > c.At.UnixMilli()-hook.CreatedAt {\n",
	}}},
	{"a deleted webhook is changed", []edit{{
		"projections/webhook.go", "x != nil && !x.Deleted", "x != nil",
	}}},
	{"a webhook's URL may hold a password", []edit{{
		"commands/webhook.go", "	case strings.ContainsRune(host, '@'):\n", "	case false:\n",
	}}},
	{"a resumed webhook does not skip", []edit{{
		"projections/webhook.go", "			x.After = f.sequence\n", "			x.After++\n",
	}}},

	// Templates.
	{"a built-in template is deleted", []edit{{
		"commands/template.go",
		"	if slices.Contains(OwnTemplates(), x.TemplateID) {\n", "	if s.Template(x.TemplateID) == nil {\n",
	}}},
	{"a built-in template does not exist until it is changed", []edit{{
		"commands/template.go",
		"s.Template(id) == nil && !slices.Contains(OwnTemplates(), id)", "s.Template(id) == nil",
	}}},
	{"a deleted template is changed", []edit{{
		"commands/template.go", "s.Template(id) == nil && !slices",
		"!s.TemplateEver(id) && !slices",
	}}},
	{"an unchanged template is reset", []edit{{
		"commands/template.go", `t == nil || t.Content == ""`,
		`t != nil && t.Content == ""`,
	}}},
	{"a new name also counts as a new version of a template", []edit{{
		"projections/template.go",
		"	set(&after.Name, d.Name)\n",
		"	set(&after.Name, d.Name)\n	if d.Name != nil {\n		after.Version++\n	}\n",
	}}},
	{"a reset template keeps its content", []edit{{"projections/template.go", "	after.Content = \"\"\n", ""}}},
	{"a deleted template stays in the views", []edit{{
		"projections/template.go", "t != nil && !t.Deleted",
		"t != nil",
	}}},

	// Queues.
	{"an item that a session holds is started by another", []edit{
		{
			queues, "	if top == nil {\n		return nil, nil\n	}\n	return &events.QueueItemStarted{",
			"	for item := range s.Held() {\n" +
				"		if top == nil && item.ProjectID == q.ProjectID && item.Queue == q.Name {\n" +
				"			top = item\n		}\n	}\n	if top == nil {\n		return nil, nil\n	}\n" +
				"	return &events.QueueItemStarted{",
		},
		{
			foldQueue, "	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQueued)\n",
			"	item, err := s.item(f, d.Queue, d.TaskID, events.ItemQueued, events.ItemProcessing)\n",
		},
	}},
	{
		"a session holds two items",
		[]edit{{
			queues, "	case s.Holds(session) != nil:\n		return nil, nil\n	case thirdOn",
			"	case thirdOn",
		}},
	},
	{"an ended session completes its item", []edit{{
		permit, "x.Ended() && !isReport(id) {",
		"x.Ended() && !isReport(id) && id != \"queue:complete\" {",
	}}},
	{
		"a skip loses its reason",
		[]edit{{
			finishes, "				Held:      true,\n				Reason:    x.Reason,\n",
			"				Held:      true,\n",
		}},
	},
	{
		"a requeue loses its reason",
		[]edit{{
			queues, "TaskID: item.TaskID, Reason: x.Reason}, nil", "TaskID: item.TaskID}, nil",
		}},
	},
	{
		"a session completes an item that it no longer holds",
		[]edit{{
			finishes, "	if lost := lostItem(session, last); lost != nil {\n",
			"	if last != nil && last.Status == events.ItemProcessing {\n		return last, nil\n	}\n" +
				"	if lost := lostItem(session, last); lost != nil {\n",
		}},
	},
	{"a session that reported its completion starts an item", []edit{{
		"commands/queue.go",
		"case thirdOn(c.Rules) && session.Status == events.SessionSaidDone:",
		"case false:",
	}}},
	{"a lost session starts an item", []edit{{
		queues, "	case session.Lost():\n",
		"	case session.Lost() && false:\n",
	}}},
	{
		"an item is taken from a live session",
		[]edit{{
			returns, "if reason = s.Gone(item.SessionID); reason == \"\" {",
			"if reason = s.Gone(item.SessionID); reason == \"?\" {",
		}},
	},
	{
		"a session still holds an item that was returned",
		[]edit{{
			foldReturn,
			"	s.letGo(d.SessionID)\n	s.retract(f, d.TaskID, d.SessionID)\n	s.note(f, 0)\n",
			"	s.retract(f, d.TaskID, d.SessionID)\n	s.note(f, 0)\n",
		}},
	},
	{"the last item of a queue is started first", []edit{{
		"projections/line.go",
		"	for n.left != nil {\n		n = n.left\n	}\n	return n.task, n.place, true",
		"	for n.right != nil {\n		n = n.right\n	}\n	return n.task, n.place, true",
	}}},
	{
		"a returned item goes to the end of the queue",
		[]edit{{
			foldReturn,
			"	s.changeItem(f, item, func(i *Item) {\n" +
				"		i.Status, i.StartedAt, i.Cause, i.Claim = events.ItemQueued, 0, f.cause(), claim\n" +
				"		i.Place &^= notReturned\n",
			"	var place uint64\n	s.changeQueue(queueKey(f.Project, d.Queue), func(q *Queue) {\n" +
				"		q.Pushed++\n		place = q.Pushed | notReturned\n	})\n" +
				"	s.changeItem(f, item, func(i *Item) {\n" +
				"		i.Status, i.StartedAt, i.Cause, i.Claim = events.ItemQueued, 0, f.cause(), claim\n" +
				"		i.Place = place\n",
		}},
	},
	{"dependencies are ignored", []edit{{foldLook, "	return w.unmet[at] == 0\n", "	return w.unmet[at] >= 0\n"}}},
	{"every queue trusts reports", []edit{{foldNeeds, "	if !trust || d.Deleted {\n", "	if d.Deleted {\n"}}},
	{"completing a task does not recheck the items that wait for it", []edit{{
		"projections/task.go", "		s.unsettled.met = append(s.unsettled.met, id)\n", "",
	}}},
	{"deleting several tasks rechecks only the items that wait for the first", []edit{{
		foldSettle, "l.turn(u.met, u.spoken)", "l.turn(u.met[:min(1, len(u.met))], u.spoken)",
	}}},
	{"a report on several tasks rechecks only the items that wait for the first", []edit{{
		foldSettle, "l.turn(u.met, u.spoken)", "l.turn(u.met, u.spoken[:min(1, len(u.spoken))])",
	}}},
	{"an item with two dependencies is eligible when one is satisfied", []edit{{
		foldLook, "	return unmet\n",
		"	if int(unmet) < len(t.Dependencies) {\n		return 0\n	}\n	return unmet\n",
	}}},
	{"a task's unmet dependencies are not recounted when its dependencies change", []edit{{
		foldNeeds, "	s.countAnew(task)\n	s.await(gone, -s.Open(task))\n", "	s.await(gone, -s.Open(task))\n",
	}, {
		foldNeeds, "	s.countAnew(task)\n	s.await(dependencies, s.Open(task))\n",
		"	s.await(dependencies, s.Open(task))\n",
	}}},
	{"the end of a session does not recheck the items that trust its reports", []edit{{
		"projections/session.go",
		"if len(s.trusting) > 0 && before.Ended() != after.Ended() {", "if false {",
	}}},
	{"the items of a deleted task stay queued", []edit{{"projections/task.go", "		s.dropItems(f, id)\n", ""}}},
	{"an item is quarantined one attempt late", []edit{
		{returns, "item.Attempts >= q.MaxAttempts;", "item.Attempts > q.MaxAttempts;"},
		{
			leases, "item.Attempts >= s.Queue(item.ProjectID, item.Queue).MaxAttempts {",
			"item.Attempts > s.Queue(item.ProjectID, item.Queue).MaxAttempts {",
		},
	}},
	{"a requeued item keeps its attempts", []edit{{
		foldQueue, "= events.ItemQueued, place, 0, f.cause()",
		"= events.ItemQueued, place, i.Attempts, f.cause()",
	}}},

	{"a completed item is requeued although its task was not reopened", []edit{{
		foldAgain, "t != nil && !s.done(t)", "t != nil",
	}}},
	{"a completed item is requeued although another session works on its task", []edit{{
		foldAgain, "	return said.SessionID != \"\"\n",
		"	says, _ := s.SessionStatus(t)\n	return said.SessionID != \"\" && says == events.SaysCompleted\n",
	}}},
	{"an indirect dependency through a deleted task counts", []edit{{
		foldReach, "		t := w.state.Task(id)\n", "		t := w.state.tasks.get(id)\n",
	}}},
	{"an item whose task was reopened is not requeued", []edit{{
		foldAgain, "t != nil && !s.done(t)", "false && s.done(t)",
	}}},

	// Leases.
	{"no item is returned", []edit{{leases, "		if s.Gone(item.SessionID) == \"\" {\n", "		if true {\n"}}},
	{"the items of sessions that ended before the process started are not returned", []edit{
		{leases, "		due = append(due, abandonedItems(s)...)\n", ""},
	}},
	{"the items of lost sessions are not returned", []edit{{
		leases, "		if s.Gone(item.SessionID) == \"\" {\n",
		"		if gone := s.Gone(item.SessionID); gone == \"\" || gone == \"lost\" {\n",
	}}},
	{"a session is lost twice", []edit{
		{deadlines, "return !x.Ended() && !x.Lost() &&", "return !x.Ended() &&"},
		{
			leases, "fmt.Sprintf(\"lost/%s/%d\", x.ID, x.Losses+1)",
			"fmt.Sprintf(\"lost/%s/%d\", x.ID, time.Now().UnixNano())",
		},
	}},
	{"a session is lost twice, with the key of the first loss", []edit{{
		deadlines, "return !x.Ended() && !x.Lost() &&",
		"return !x.Ended() &&",
	}}},
	{"each try to return an item has a new key", []edit{{
		leases, "key := fmt.Sprintf(\"given back/%d\", item.Started)",
		"key := fmt.Sprintf(\"given back/%d\", time.Now().UnixNano())",
	}}},
	{"the time when a session was heard is not recorded", []edit{{
		leases, "h.at, h.beats = l.config.Elapsed(), h.beats || beat",
		"h.beats = h.beats || beat",
	}}},
	{"a pause of the process is not noticed", []edit{{
		leases, "	if pause <= pauseAfter*l.every {\n", "	if pause >= 0 {\n",
	}}},
	{"sleep counts as silence", []edit{
		{
			leases, "h.at, h.beats = l.config.Elapsed(), h.beats || beat",
			"h.at, h.beats = time.Duration(l.config.Handler.config.Now().UnixNano()), h.beats || beat",
		},
		{
			leases, "return l.looked - max(h.at, l.since), lease",
			"return time.Duration(l.config.Handler.config.Now().UnixNano()) - max(h.at, l.since), lease",
		},
		{
			leases, "	now := l.config.Elapsed()\n	for x := range",
			"	now := time.Duration(l.config.Handler.config.Now().UnixNano())\n	for x := range",
		},
	}},
	{"a session that never sent a heartbeat has the short lease", []edit{{
		leases, "	if h.beats {\n", "	if true {\n",
	}}},
	{
		"a new process forgets which sessions send heartbeats",
		[]edit{{leases, "l.heard[id] = hearing{at: l.since, beats: true}", "l.heard[id] = hearing{at: l.since}"}},
	},
	{"a session may be lost before its lease is over", []edit{{
		deadlines, "x.Lease <= 0 || x.SilentFor < x.Lease:",
		"x.Lease <= 0:",
	}}},
	{"a lost session that calls stays lost", []edit{{
		leases, "	if lost == nil {\n",
		"	if lost == nil || true {\n",
	}}},
	{
		"a call from a deleted session is an error",
		[]edit{{
			leases, "	if errors.As(err, &refusal) { // it was deleted meanwhile\n",
			"	if errors.As(err, &refusal) && false {\n",
		}},
	},
	{"a session that calls while its loss is written stays lost", []edit{{
		leases, "			err = l.recover(ctx, d.session) //",
		"			err = nil //",
	}}},
	{"a silent session is never lost", []edit{{
		leases, "		if silent >= lease {\n			found",
		"		if silent >= 1000*lease {\n			found",
	}}},
	{
		"a completed session that holds an item is never lost",
		[]edit{{
			deadlines, "(x.Status != events.SessionSaidDone || s.Holds(x) != nil)",
			"x.Status != events.SessionSaidDone",
		}},
	},
	{
		"the server that keeps the leases does not read what others wrote",
		[]edit{{
			handler, "	if !h.config.Shared {\n		return nil\n	}\n	return h.barrier(ctx)",
			"	if true {\n		return nil\n	}\n	return h.barrier(ctx)",
		}},
	},
	{"a session is timed out a minute early", []edit{
		{deadlines, "c.At.UnixMilli() < session.Deadline {", "c.At.UnixMilli() < session.Deadline-60_000 {"},
		{
			overdue, "		if passed >= limit.over && now >= x.Deadline {\n",
			"		if now >= x.Deadline-60_000 {\n",
		},
	}},
	{"a session is never timed out", []edit{{
		overdue, "		if passed >= limit.over && now >= x.Deadline {\n",
		"		if now < 0 {\n",
	}}},

	// Runs.
	{"a session that a runner has is claimed again", []edit{{
		runs, "	case session.Claimed():\n		if run.Runner",
		"	case false:\n		if run.Runner",
	}}},
	{"any runner claims a session", []edit{{
		runs, "	case !session.MayClaim(runner):\n",
		"	case false:\n",
	}}},
	{"a runner speaks of a session that another one has", []edit{{
		runs, "	case run == nil || run.Runner != c.By.Name:\n",
		"	case run == nil:\n",
	}}},
	{"a runner speaks of an earlier run", []edit{{
		runs, "	case run.Number != number:\n",
		"	case false:\n",
	}}},
	{"an exit without a report is success", []edit{{
		runs, "	return events.SessionEndFailed\n",
		"	if x.ExitCode != nil && *x.ExitCode == 0 {\n		return events.SessionSaidDone\n	}\n" +
			"	return events.SessionEndFailed\n",
	}}},
	{"a session that waits for an answer ends", []edit{{
		runs, "x.Signal == \"\" && s.WaitsForAnswer(session):",
		"x.Signal == \"\" && false:",
	}}},
	{"the supervisor of a former run still acts", []edit{{
		permit, "	case by.Generation != 0 && by.Generation != x.Generation:\n",
		"	case false:\n",
	}}},
	{"a resumed session keeps its secret", []edit{{
		"commands/resume.go", "session.Generation + 1,",
		"session.Generation,",
	}}},
	{"a session is resumed while it runs", []edit{{
		"commands/resume.go", "session.Claimed() && !session.Lost()",
		"false",
	}}},
	{"a session gives another a freer permission mode than its own", []edit{{
		bounds, "modeRank(child.PermissionMode) <= modeRank(own.PermissionMode)", "true",
	}}},
	{"a session gives another more of the network than it has", []edit{{
		bounds, "networkWithin(child.Network, own.Network)", "true",
	}}},
	{"a session lets another work outside of its own directory", []edit{{
		bounds, "dir == \"\" || ownDir != \"\" && projections.IsBelow(dir, ownDir)", "true",
	}}},
	{"a session does not pass on what bounds it", []edit{{
		bounds, "return x.WithOptions(\"\", \"\", nil, 0, narrow)", "return x",
	}}},
	{"a session that waits for an answer is lost", []edit{{
		deadlines, " && !x.Waits() && ",
		" && ",
	}}},

	// Questions.
	{
		"a second answer is accepted",
		[]edit{{
			inputs, "	case projections.InputAnswered, projections.InputDelivered:\n		why :=",
			"	case projections.InputDelivered:\n		why :=",
		}},
	},
	{
		"an orchestrator answers a session that it did not spawn",
		[]edit{{inputs, "(asker == nil || !leads(s, c, c.By.Name, asker)) {", "asker == nil {"}},
	},
	{"an answer need not be one of the options", []edit{{
		inputs, "if len(asked.Options) > 0 && !x.Other &&",
		"if false && len(asked.Options) > 0 && !x.Other &&",
	}}},
	{"another session receives the answer", []edit{{
		inputs, "	if asked.SessionID != c.By.Name {\n",
		"	if false {\n",
	}}},
	{
		"an answer is delivered before it is given",
		[]edit{{
			inputs, "	case projections.InputAnswered:\n		return &events.InputDelivered",
			"	case projections.InputAnswered, projections.InputOpen, projections.InputVoid:\n" +
				"		return &events.InputDelivered",
		}, {
			inputs, "	case projections.InputOpen, projections.InputVoid:\n	}\n	return nil, forbidden",
			"	}\n	return nil, forbidden",
		}},
	},

	// Messages.
	{"a session sends a message to an unrelated session", []edit{{
		messages, "	if !leads(s, c, caller.ID, receiver) && !leads(s, c, receiver.ID, caller) {\n",
		"	if false {\n",
	}}},
	{"an orchestrator takes over from one that is at work", []edit{{
		"projections/lineage.go", "o.Active() && !o.Deleted ||", "",
	}}},
	{"an orchestrator that has another task takes over", []edit{{
		"projections/lineage.go",
		"return slices.ContainsFunc(x.TaskIDs, func(task string) bool { return had[task] })",
		"return len(had) > 0 && len(slices.Sorted(slices.Values(x.TaskIDs))) > 0",
	}}},
	{"a successor does not take over", []edit{{
		"commands/message.go", "return s.Leads(above, x)", "return x.SpawnedBy == above",
	}}},
	{"a message to the sender's spawner belongs to the sender's project", []edit{{
		"commands/message.go", "to = caller.SpawnedBy", "to = caller.ID",
	}}},
	{"a message may be about any task of its receiver's project", []edit{{
		"commands/message.go", "project == c.Project && createdProject(s, x, project)", "project == c.Project",
	}}},
	{"a session may kill the sessions below it only in its own project", []edit{{
		"commands/permit.go", "return ok && s.LedBelow(maker, x.ID)", "return ok && maker == x.ID",
	}}},
	{"a session may kill any session in the project of a session below it", []edit{{
		"commands/session.go", "below := thirdOn(c.Rules) && s.LedBelow(session.ID, c.By.Name); !below", "false",
	}}},
	{"a session may send messages to its spawner only in its own project", []edit{{
		"commands/permit.go", "return x.SpawnedBy != \"\" && s.SessionProject(x.SpawnedBy) == project", "return false",
	}}},
	{"a message to an ended session is accepted", []edit{{
		messages, "	case receiver.Ended():\n",
		"	case false:\n",
	}}},
	{"another session receives a message", []edit{{
		inputs, "if own := s.Session(c.By.Name); own != nil", "if own := s.Session(spawnerOf(s, c)); own != nil",
	}, {
		inputs, "// validOptions checks",
		"func spawnerOf(s *projections.State, c Call) string {\n	for x := range s.Sessions(c.By.Project) {\n" +
			"		if x.Mail != nil {\n			return x.ID\n		}\n	}\n	return c.By.Name\n}\n\n" +
			"// validOptions checks",
	}}},
	{"a delivered message stays undelivered in the views", []edit{{
		"projections/message.go",
		"	s.undelivered.put(d.SessionID, s.omit(s.undelivered.get(d.SessionID), d.InputID))\n", "",
	}}},
	{"an uncommitted message changes the committed session", []edit{{
		"projections/message.go", "		fields := x.ownFields()\n		fields.Mail = append(",
		"		fields := x.SessionFields\n		fields.Mail = append(",
	}}},
	{"the delivery of a message has no cause", []edit{{
		causes, "			return x.Message(d.InputID).Sent, true\n",
		"			return projections.Cause{}, true\n",
	}}},
	{"no session is notified that a task is open again", []edit{{
		notices, "	if told == nil {\n", "	if told != nil {\n",
	}}},
	{"an orchestrator is not notified of what the user decides about a task below its own", []edit{{
		notices, "x.orchestrators && session.Role == events.RoleOrchestrator", "false",
	}}},
	{"an orchestrator is not notified of what the user decides about its sessions' tasks", []edit{{
		notices, "found = append(found, x.leading(s, session.SpawnedBy)...)", "_ = session",
	}}},
	{"an orchestrator is not notified of what the user decides about tasks that it created", []edit{{
		notices, "found = append(found, x.leading(s, author)...)", "_ = author",
	}}},
	{"an orchestrator is notified of what a session decides", []edit{{
		notices, "fifthOn(c.Rules) && c.By.Kind == ActorUser", "fifthOn(c.Rules)",
	}}},
	{"the successor of an orchestrator is not notified of what the user decides", []edit{{
		notices, "found = append(found, s.Successors(before)...)", "_ = before",
	}}},
	{"a session that is done skips the next item", []edit{{
		"commands/queuefinish.go", "fifthOn(c.Rules) && session.Status == events.SessionSaidDone",
		"fifthOn(c.Rules) && false",
	}}},
	{"an ended session is notified", []edit{{notices, "x == nil || x.Ended() || ", "x == nil || "}}},
	{"a notice reaches only the first session", []edit{{
		"projections/message.go", "	for _, id := range n.SessionIDs {\n		s.mailNotice(",
		"	for _, id := range n.SessionIDs[:1] {\n		s.mailNotice(",
	}}},
	{"a session that is done is notified that its task is completed", []edit{{
		notices, "(!x.Active() || said == events.SaysCompleted)", "said == \"\" && !x.Active()",
	}}},
	{"no session is notified that its task is deleted", []edit{{
		"commands/taskdelete.go", "	deleted.Notice = noticeTo(s, c, true, gone...)\n", "	_ = gone\n",
	}}},
	{"what a session said of how its work ended is forgotten with the session", []edit{{
		"projections/says.go", "return said.isOutcome() || alive(said.SessionID)", "return alive(said.SessionID)",
	}}},
	{"what ended sessions said before a task was done counts again once it is reopened", []edit{{
		"projections/says.go", "		return x != nil && x.Active()\n", "		return true || x.Active()\n",
	}}},
	{"a task is reopened for another reason that nobody gave before", []edit{{
		"commands/task.go", "t.Reopened && x.Reason", "x.Reason",
	}}},

	// Manifests.
	{
		"a session starts with a manifest that it was not given",
		[]edit{{begins, "	case session.ManifestDigest != x.ManifestDigest:\n", "	case false:\n"}},
	},
	{"a session without a manifest starts with any manifest", []edit{{
		begins, "	case session.ManifestDigest == \"\":\n",
		"	case false:\n",
	}, {
		begins, "	case session.ManifestDigest != x.ManifestDigest:\n",
		"	case session.ManifestDigest != \"\" && session.ManifestDigest != x.ManifestDigest:\n",
	}}},
	{"a session starts in the other role", []edit{
		{begins, "	case session.Role != x.Role:\n", "	case false:\n"},
		{
			permit, "	if !ok {\n		return nil\n	}\n	column, canonical",
			"	if !ok || id == \"worker:init\" || id == \"orchestrator:init\" {\n		return nil\n	}\n" +
				"	column, canonical",
		},
	}},
	{"a session starts another", []edit{{
		begins, "ownSession(s, c, x.ProjectRef, x.SessionID, x.ID())",
		"session(s, c, x.ProjectRef, x.SessionID)",
	}}},
	{
		"a running session starts again",
		[]edit{{
			begins, "	case session.Status == events.SessionRunning, session.Status == events.SessionSaidDone:\n",
			"	case session.Status == events.SessionSaidDone:\n",
		}},
	},
	{
		"a session's start does not name its manifest",
		[]edit{{
			begins, "SessionID: session.ID, ManifestDigest: x.ManifestDigest, Role: x.Role}",
			"SessionID: session.ID}",
		}},
	},
	{"a reissued manifest is not recorded", []edit{{
		"projections/session.go",
		"		set(&fields.ManifestDigest, d.ManifestDigest)\n", "",
	}}},

	// Causes.
	{"events name only the cause of the calling session", []edit{{
		causes, "if cause, ok := ownCause(s, data); ok {",
		"if cause, ok := ownCause(s, data); ok && false {",
	}}},
	{"a session's creation is named as the cause of what its end causes", []edit{{
		causes, "return x.Gone, true", "return x.Cause, true",
	}}},
	{
		"the start of an item is not the cause of its end",
		[]edit{{
			foldQueue, "		i.Cause, i.Started, i.Claim, i.FinishedBy = f.cause(), f.sequence, nil, \"\"\n",
			"		i.Started, i.Claim, i.FinishedBy = f.sequence, nil, \"\"\n",
		}},
	},
	{"each event begins a new chain of causes", []edit{{
		"projections/timeline.go",
		"		return Cause{id, f.CorrelationID}\n", "		return Cause{id, id}\n",
	}}},

	// Records of refusals.
	{"a refusal is not recorded", []edit{{
		writer, "	if h.config.Denials == nil || !errors.As(r.err, &refusal) {\n",
		"	if !errors.As(r.err, &refusal) || true {\n",
	}}},
	{
		"a refusal is recorded after its answer",
		[]edit{{
			writer,
			"		if err != nil {\n			p.done <- result{err: err}\n			return\n		}\n" +
				"		refusal.Recorded = true\n		p.done <- r\n	})\n", "	})\n	p.done <- r\n",
		}},
	},
	{
		"a refusal from outside the writer is not recorded",
		[]edit{{
			denials, "	if h.config.Denials == nil || !errors.As(err, &refusal) {\n",
			"	if !errors.As(err, &refusal) || true {\n",
		}},
	},
	{"equal refusals are counted once", []edit{{denials, "	r.Count++\n", "	r.Count = 1\n"}}},
	{
		"each process numbers the slots of records anew",
		[]edit{{
			denials, "			d.next = max(d.next, number+1)\n",
			"			d.next = max(d.next, number*0)\n",
		}},
	},
	{
		"the text of a refused kept command is not recorded",
		[]edit{{
			denial1, "		denial.Text = cmp.Or(named.Message, named.File)\n",
			"		denial.Text = cmp.Or(named.Message, named.File)[:0]\n",
		}},
	},
	{
		"refused kept commands are not limited",
		[]edit{{denials, "	case denial.Kept:\n		a.fresh[sort]++\n", "	case denial.Kept:\n"}},
	},
	{"the texts of refusals are not shortened", []edit{{denials, "	denial.bound()\n", ""}}},
	{"the oldest refusal of all actors is dropped first", []edit{{
		shares,
		"		loser := s.heap[0].actors[0]\n		of := plainDenial\n" +
			"		if len(loser.records[keptDenial]) > len(loser.records[plainDenial]) {\n" +
			"			of = keptDenial\n		}\n",
		"		oldest := s.all.Front().Value.(*denialRecord)\n		loser, of := oldest.actor, oldest.sort()\n",
	}}},
	{"a project created by a session has its own share of the records", []edit{{
		shares, "	if root == \"\" || !session {\n		root = project\n",
		"	if true || !session {\n		root = project\n",
	}}},
	{"the root of a nested project is its creator's project", []edit{{
		"projections/root.go", "		return s.Root(of)\n", "		return of\n",
	}}},
	{
		"the slots of dropped records are not reused",
		[]edit{{
			denials, "	d.free = append(d.free, d.shares.makeRoom(a, sort)...)\n",
			"	d.shares.makeRoom(a, sort)\n",
		}},
	},

	// Plans.
	{"two tasks have the same plan id", []edit{{
		places, "	if other == nil || other.ID == task {\n", "	if other != nil || other == nil {\n",
	}}},
	{"a plan id may be the id of another task", []edit{{
		places, "	if !IsTaskID(id) && (other == nil || other.ID == task) {\n",
		"	if true || other == nil || other.ID == task {\n",
	}}},
	{"siblings are in the wrong order", []edit{{
		"projections/siblings.go", "first.Order < t.SiblingKey()", "first.Order > t.SiblingKey()",
	}}},
	{"a task is put on the wrong side of its sibling", []edit{{
		"commands/taskorder.go", "s.KeyBeside(sibling, after)", "s.KeyBeside(sibling, !after)",
	}}},
	{"tasks keep their keys where all get new ones", []edit{{
		"projections/task.go", "	s.respace(before, d.Order)\n", "",
	}}},
	{"a task is put at the wrong place where all get new keys", []edit{{
		"projections/siblings.go", "return spacedKey(key, at, len(around)+1)",
		"return spacedKey(key, min(at, 0), len(around)+1)",
	}}},
	{"a plan id is never released", []edit{{
		"projections/plan.go", "		s.plans.put(key, \"\")\n", "		s.plans.put(key, t.ID)\n",
	}}},
	{"an orchestrator reverts a cancellation", []edit{{
		"commands/taskstatus.go", "t.Status == events.TaskCancelled && c.By", "false && c.By",
	}}},
	{"a cancelled task may be given to a session or a queue", []edit{{
		"commands/maystart.go", "if s.Task(id).Status != events.TaskCancelled {",
		"if true || s.Task(id).Status != events.TaskCancelled {",
	}}},
	{"a spawn does not wait for dependencies", []edit{{
		"commands/spawn.go", "return mayStart(s, c, kind.tasks, unmet, x.Force)",
		"return mayStart(s, c, kind.tasks, nil, x.Force)",
	}}},
	{"a session may be registered with any task", []edit{{
		"commands/session.go", "mayHave(s, c, x.ID(), nil, kind.tasks, x.Force)",
		"mayHave(s, c, x.ID(), nil, nil, x.Force)",
	}}},
	{"an update may give a session any task", []edit{{
		"commands/sessionupdate.go", "mayHave(s, c, x.ID(), session, *x.TaskIDs, x.Force)",
		"mayHave(s, c, x.ID(), session, nil, x.Force)",
	}}},
	{"a session may be linked to any task", []edit{{
		"commands/link.go", "append(slices.Clip(session.TaskIDs), x.TaskID), x.Force)", "nil, x.Force)",
	}}},
	{"an ended session is given tasks", []edit{{
		"commands/maystart.go", "over := session != nil && session.Ended()", "over := false",
	}}},
	{"the tasks that a session has are checked again", []edit{{
		"commands/maystart.go", "		if !has[id] {\n", "		if true || !has[id] {\n",
	}}},
	{"a new task waits for those that its session already has", []edit{{
		"commands/maystart.go", "unmetDependencies(s, added, tasks)", "unmetDependencies(s, added, added)",
	}}},
	{"a cancelled task is pushed to a queue", []edit{{
		"commands/queue.go", "noneCancelled(s, c, t.ID)", "noneCancelled(s, c)",
	}}},
	{"a cancelled task is requeued", []edit{{
		"commands/queue.go", "noneCancelled(s, c, item.TaskID)", "noneCancelled(s, c)",
	}}},
	{"a task is created below a completed one", []edit{{
		"commands/task.go", "mayBeOpen(s, c, x.ParentID, x.Force)", "mayBeOpen(s, c, \"\", x.Force)",
	}}},
	{"an open task moves below a completed one", []edit{{
		"commands/taskstatus.go", "(!isOpen(t.Status) || above != t.ParentID)", "!isOpen(t.Status)",
	}}},
	{"a task is reopened below a completed one", []edit{{
		"commands/taskstatus.go", "(!isOpen(t.Status) || above != t.ParentID)", "above != t.ParentID",
	}}},
	{"a parent is completed before its children", []edit{{
		"commands/taskstatus.go", "|| s.Unfinished(t.ID) == 0 {", "|| true {",
	}}},
	{"a completed child still counts as open", []edit{{
		"projections/unfinished.go", "t.Over() {", "t.Over() && t.Status != \"completed\" {",
	}}},
	{"a moved child still counts for its old parent", []edit{{
		"projections/unfinished.go", "	if was != \"\" {\n", "	if was != \"\" && is == \"\" {\n",
	}}},
	{"progress after a completion reverts the completion", []edit{{
		"projections/report.go", "if !d.Late && !d.AfterDone {", "if !d.Late {",
	}}},
	{"a task moves below itself", []edit{{places, "	if above[t.ID] {\n", "	if false {\n"}}},
	{"a task moves below a dependency of one of its subtasks", []edit{
		{places, "			if above[id] {\n", "			if false {\n"},
		{"commands/graph.go", "slices.Concat(waitsFor, g.s.ChildIDs(t.ID))", "slices.Clone(waitsFor)"},
	}},
	{"a moved task stays among the children of its old parent", []edit{{
		"projections/hierarchy.go", "		s.children.put(before, without(old, []string{t.ID}))\n",
		"		s.children.put(before, old)\n",
	}}},
	{"an update that changes nothing becomes an event", []edit{{
		changes, "	dropSame(&kept.Title, t.Title)\n", "",
	}}},
}

// appendOnce is where a batch is appended.
const appendOnce = "	return h.metered(d, func() error { return h.config.Log.Append(ctx, d.ground, d.messages) })\n"

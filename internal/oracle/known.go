package oracle

// typeReported is the one type that is asked for by name: an ended session may still write it.
const typeReported = "maestro.session.reported.v1"

// known are the types of event that the documents know, each with an empty payload.
var known = map[string]func() fact{
	"maestro.project.created.v1":        func() fact { return new(projectCreated) },
	"maestro.project.updated.v1":        func() fact { return new(projectUpdated) },
	"maestro.project.deleted.v1":        func() fact { return new(projectDeleted) },
	"maestro.task.created.v1":           func() fact { return new(taskCreated) },
	"maestro.task.updated.v1":           func() fact { return new(taskUpdated) },
	"maestro.task.status_changed.v1":    func() fact { return new(taskStatusChanged) },
	"maestro.task.deleted.v1":           func() fact { return new(taskDeleted) },
	"maestro.session.spawned.v1":        func() fact { return new(sessionSpawned) },
	"maestro.session.registered.v1":     func() fact { return new(sessionRegistered) },
	"maestro.session.updated.v1":        func() fact { return new(sessionUpdated) },
	"maestro.session.completed.v1":      func() fact { return new(sessionCompleted) },
	"maestro.session.killed.v1":         func() fact { return new(sessionKilled) },
	"maestro.session.deleted.v1":        func() fact { return new(sessionDeleted) },
	typeReported:                        func() fact { return new(sessionReported) },
	"maestro.session.noted.v1":          func() fact { return new(sessionNoted) },
	"maestro.session.file_tracked.v1":   func() fact { return new(sessionFileTracked) },
	"maestro.session.task_linked.v1":    func() fact { return new(sessionTaskLinked) },
	"maestro.session.task_unlinked.v1":  func() fact { return new(sessionTaskUnlinked) },
	"maestro.session.lost.v1":           func() fact { return new(sessionLost) },
	"maestro.session.recovered.v1":      func() fact { return new(sessionRecovered) },
	"maestro.session.timed_out.v1":      func() fact { return new(sessionTimedOut) },
	"maestro.queue.created.v1":          func() fact { return new(queueCreated) },
	"maestro.queue.item_pushed.v1":      func() fact { return new(itemPushed) },
	"maestro.queue.item_started.v1":     func() fact { return new(itemStarted) },
	"maestro.queue.item_completed.v1":   func() fact { return new(itemCompleted) },
	"maestro.queue.item_failed.v1":      func() fact { return new(itemFailed) },
	"maestro.queue.item_skipped.v1":     func() fact { return new(itemSkipped) },
	"maestro.queue.item_requeued.v1":    func() fact { return new(itemRequeued) },
	"maestro.queue.item_returned.v1":    func() fact { return new(itemReturned) },
	"maestro.queue.item_quarantined.v1": func() fact { return new(itemQuarantined) },
	"maestro.input.answered.v1":         func() fact { return new(inputAnswered) },
	"maestro.input.delivered.v1":        func() fact { return new(inputDelivered) },
	"maestro.token.created.v1":          func() fact { return new(tokenCreated) },
	"maestro.token.revoked.v1":          func() fact { return new(tokenRevoked) },
}

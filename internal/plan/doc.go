// Package plan reads a plan: a YAML file that lists a project's tasks with their parents and dependencies under local
// ids.
//
// [Parse] looks at everything first and reports every fault with its line, so that nothing is made of half a plan. A
// plan that it accepts has its tasks in an order in which they can be made: parents and dependencies first.
//
// [Diff] compares a plan with the tasks of a project: it says which command each entry needs.
package plan

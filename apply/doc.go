// Package apply hides how target objects are written. It is the only package that writes them.
//
// Deciding and doing are apart: a Planner tries objects on the server in dry runs that change nothing and returns a Plan, an Applier does
// what the Plan says, as far as it gets without waiting, and returns a ChangeSet. Neither keeps state between passes that a restart
// would miss: what is done is read off the cluster and the inventory. What a Memory keeps spares requests: an object that nobody
// touched since it was as desired is neither read nor tried.
package apply

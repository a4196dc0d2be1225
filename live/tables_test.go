package live_test

import "strings"

var (
	oneContainer  = container(``)
	twoContainers = deployment("", `containers: [{name: main, image: "main:1"}, {name: side, image: "side:1"}]`)
	withEnv       = container(`, env: [{name: A, value: a}, {name: B, value: b}]`)
	webService    = service(`selector: {app: x}, ports: [{name: web, port: 80}]`)
)

var listKeys = map[string]prediction{
	"an image":                  then(oneContainer, deployment("", `containers: [{name: main, image: "main:2"}]`)),
	"an item more":              then(oneContainer, twoContainers),
	"an item less":              then(twoContainers, oneContainer),
	"another order":             then(twoContainers, deployment("", `containers: [{name: side, image: "side:1"}, {name: main, image: "main:1"}]`)),
	"another name":              then(oneContainer, deployment("", `containers: [{name: other, image: "main:1"}]`)),
	"a variable less":           then(withEnv, container(`, env: [{name: A, value: a}]`)),
	"a variable's value":        then(withEnv, container(`, env: [{name: A, value: a}, {name: B, value: c}]`)),
	"a variable in between":     then(withEnv, container(`, env: [{name: A, value: a}, {name: C, value: c}, {name: B, value: b}]`)),
	"a port by two keys":        then(container(`, ports: [{containerPort: 53, protocol: UDP}]`), container(`, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]`)),
	"a port of the default key": then(container(`, ports: [{containerPort: 53}]`), container(`, ports: [{containerPort: 53, name: dns}]`)),
	"a service port":            then(webService, service(`selector: {app: x}, ports: [{name: web, port: 81}]`)),
	"a service port more":       then(webService, service(`selector: {app: x}, ports: [{name: web, port: 80}, {name: more, port: 81}]`)),
	"twice the same key":        {desired: container(`, env: [{name: A, value: a}], ports: [{containerPort: 1}, {containerPort: 1}]`), schema: "duplicate entries for key"},
	"a finalizer of another":    {before: []step{convoy(configMap("a: b")), patched("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/a]}}`)}, desired: configMap("a: b"), unchanged: true},
	"a finalizer more": {
		before:  []step{convoy(configMap("a: b")), patched("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/a]}}`)},
		desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/b]}, data: {a: b}}`,
	},
}

var (
	fieldRef  = container(`, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`)
	network   = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}}`
	binding   = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s, namespace: NS}]}`
	webhooks  = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NS}, webhooks: [{name: a.example.com, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1"}, rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]}]}`
	projected = deployment("", `volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: token}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}], containers: [{name: main, image: "main:1"}]`)
	stateful  = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {serviceName: x, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: "main:1"}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`
)

var atomicValues = map[string]prediction{
	"an argument less":           then(container(`, args: [a, b]`), container(`, args: [a]`)),
	"arguments of another":       {before: []step{convoy(container(`, args: [a, b]`)), patched("other", container(`, args: [a, b, c]`))}, desired: container(`, args: [a, b]`)},
	"a selector of another":      {before: []step{convoy(webService), patched("other", service(`selector: {tier: web}`))}, desired: webService},
	"a node selector of another": {before: []step{convoy(deployment("", `nodeSelector: {a: b}, containers: [{name: main, image: "main:1"}]`)), patched("other", deployment("", `nodeSelector: {c: d}`))}, desired: deployment("", `nodeSelector: {a: b}, containers: [{name: main, image: "main:1"}]`)},
	"rules":                      then(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]}`, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`),
	"a field reference":          again(fieldRef),
	"another field":              then(fieldRef, container(`, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]`)),
	"a network policy":           again(network),
	"its port":                   then(network, `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}, ingress: [{ports: [{port: 81}]}]}}`),
	"subjects":                   again(binding),
	"webhook rules":              again(webhooks),
	"projected volumes":          again(projected),
	"volume claim templates":     again(stateful),
}

var (
	replicas = deployment("replicas: 3,", `containers: [{name: main, image: "main:1"}]`)
	rolling  = deployment("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}},", `containers: [{name: main, image: "main:1"}]`)
	recreate = deployment("strategy: {type: Recreate},", `containers: [{name: main, image: "main:1"}]`)
)

var removedFields = map[string]prediction{
	"replicas":        then(replicas, oneContainer),
	"a probe's field": then(container(`, readinessProbe: {httpGet: {port: 80}, periodSeconds: 3}`), container(`, readinessProbe: {httpGet: {port: 80}}`)),
	"resources":       then(container(`, resources: {limits: {cpu: 1}}`), oneContainer),
	"a strategy":      then(rolling, oneContainer),
	"a label":         then(with(configMap("a: b"), `metadata: {name: x, labels: {l: m}}`), configMap("a: b")),
	"an annotation":   then(with(configMap("a: b"), `metadata: {name: x, annotations: {l: m}}`), configMap("a: b")),
	"a key":           then(configMap("a: b, c: d"), configMap("a: b")),
	"all keys":        then(configMap("a: b, c: d"), `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`),
	"what the server keeps and then refuses": {
		before:  []step{convoy(oneContainer)},
		desired: recreate, server: "may not be specified when strategy `type` is 'Recreate'",
	},
}

var otherManagers = map[string]prediction{
	"a label":                   {before: []step{convoy(configMap("a: b")), by("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {l: m}}}`)}, desired: configMap("a: b"), unchanged: true},
	"a key":                     {before: []step{convoy(configMap("a: b")), patched("other", configMap("c: d"))}, desired: configMap("a: b"), unchanged: true},
	"our key":                   {before: []step{convoy(configMap("a: b")), patched("other", configMap("a: c"))}, desired: configMap("a: b")},
	"our key, taken away":       {before: []step{convoy(configMap("a: b")), patched("other", configMap("a: null"))}, desired: configMap("a: b")},
	"our key, by force":         {before: []step{convoy(configMap("a: b")), by("other", configMap("a: c"))}, desired: configMap("a: b")},
	"a key that both have":      {before: []step{convoy(configMap("a: b, c: d")), by("other", configMap("a: b"))}, desired: configMap("c: d"), unchanged: true},
	"a key that both had":       {before: []step{convoy(configMap("a: b, c: d")), by("other", configMap("a: b")), by("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`)}, desired: configMap("c: d")},
	"a manager of our name":     {before: []step{convoy(configMap("a: b")), patched("convoy", configMap("a: c, e: f"))}, desired: configMap("a: b")},
	"an apply under our name":   {before: []step{convoy(configMap("a: b")), by("convoy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {convoy.dev/release-name: app}}, data: {c: d}}`)}, desired: configMap("a: b")},
	"scaled":                    {before: []step{convoy(replicas), scaled(replicas, 5)}, desired: replicas},
	"scaled to what we want":    {before: []step{convoy(replicas), scaled(replicas, 3)}, desired: replicas, unchanged: true},
	"scaled, and left to them":  {before: []step{convoy(replicas), scaled(replicas, 5)}, desired: oneContainer, unchanged: true},
	"replicas of an autoscaler": {before: []step{convoy(oneContainer), scaled(oneContainer, 5)}, desired: oneContainer, unchanged: true},
	"a restart":                 {before: []step{convoy(oneContainer), patched("kubectl-rollout", deployment("", "")), patched("kubectl-rollout", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`)}, desired: oneContainer, unchanged: true},
	"a sidecar":                 {before: []step{convoy(oneContainer), by("injector", deployment("", `containers: [{name: side, image: "side:1"}]`))}, desired: oneContainer, unchanged: true},
	"a variable":                {before: []step{convoy(oneContainer), by("injector", deployment("", `containers: [{name: main, env: [{name: Z, value: z}]}]`))}, desired: container(`, env: [{name: A, value: a}]`)},
	"a variable of a container that goes": {
		before:  []step{convoy(twoContainers), by("injector", deployment("", `containers: [{name: side, env: [{name: Z, value: z}]}]`))},
		desired: oneContainer, server: "image: Required value",
	},
	"an image":                      {before: []step{convoy(oneContainer), patched("kubectl-edit", deployment("", `containers: [{name: main, image: "main:3"}]`))}, desired: oneContainer},
	"managed fields cleared":        {before: []step{convoy(oneContainer), cleared(oneContainer)}, desired: oneContainer, unchanged: true},
	"cleared, and a container less": {before: []step{convoy(twoContainers), cleared(twoContainers)}, desired: oneContainer, unchanged: true},
	"cleared, and an image":         {before: []step{convoy(oneContainer), cleared(oneContainer)}, desired: deployment("", `containers: [{name: main, image: "main:2"}]`)},
	"kubectl apply":                 {before: []step{clientSide(oneContainer)}, desired: oneContainer, note: "would be taken over"},
	"kubectl apply, more than ours": {before: []step{clientSide(twoContainers)}, desired: oneContainer},
	"kubectl apply, less than ours": {before: []step{clientSide(oneContainer)}, desired: twoContainers},
	"kubectl apply, of a version":   {before: []step{clientSide(strings.Replace(autoscaler, "/v2", "/v1", 1))}, desired: autoscaler},
	"helm, and what others set":     {before: []step{by("helm", twoContainers), scaled(twoContainers, 5), patched("kubectl-edit", with(twoContainers, `metadata: {name: x, labels: {by: hand}}`))}, desired: oneContainer},
	"helm and flux":                 {before: []step{by("helm", configMap("a: b, c: d")), by("kustomize-controller", configMap("c: d, e: f"))}, desired: configMap("a: b")},
	"kubectl apply, and then ours":  {before: []step{clientSide(configMap("a: b, c: d")), convoy(configMap("a: b"))}, desired: configMap("a: c")},
	"an owner that is gone":         {before: []step{by("convoy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {convoy.dev/release-name: gone, convoy.dev/release-namespace: NS}}}`)}, desired: configMap("a: b")},
}

var defaultedFields = map[string]prediction{
	"a Deployment":             again(oneContainer),
	"with its defaults":        {before: []step{convoy(oneContainer)}, desired: deployment(`replicas: 1, revisionHistoryLimit: 10, strategy: {type: RollingUpdate},`, `restartPolicy: Always, containers: [{name: main, image: "main:1", imagePullPolicy: IfNotPresent}]`), unchanged: true},
	"the latest image":         then(oneContainer, deployment("", `containers: [{name: main, image: "main:latest"}]`)),
	"probes":                   again(container(`, livenessProbe: {tcpSocket: {port: 80}}, startupProbe: {exec: {command: [a]}}, readinessProbe: {grpc: {port: 80}}`)),
	"volumes":                  again(deployment("", `volumes: [{name: a, configMap: {name: a}}, {name: b, secret: {secretName: b}}, {name: c, hostPath: {path: /c}}], containers: [{name: main, image: "main:1"}]`)),
	"an Ingress":               again(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x}, spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}}`),
	"a CronJob":                again(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: "0 1 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "main:1"}]}}}}}}`),
	"a PodDisruptionBudget":    again(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}}`),
	"an autoscaler":            again(autoscaler),
	"a DaemonSet":              again(daemon),
	"its image":                then(daemon, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: "main:2"}]}}}}`),
	"a PriorityClass":          again(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NS}, value: 7}`),
	"an APIService":            again(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.NS.example.com}, spec: {group: NS.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: s, namespace: NS}, insecureSkipTLSVerify: true}}`),
	"a Service":                again(webService),
	"an external name":         again(service(`type: ExternalName, externalName: example.com`)),
	"a headless Service":       again(service(`clusterIP: None, selector: {app: x}, ports: [{port: 80}]`)),
	"no node port any more":    {before: []step{convoy(service(`type: NodePort, selector: {app: x}, ports: [{name: web, port: 80}]`))}, desired: webService, short: "spec/ports spec/externalTrafficPolicy", note: "as the type changes"},
	"an external name at last": {before: []step{convoy(webService)}, desired: service(`type: ExternalName, externalName: example.com`), short: "spec/clusterIP spec/clusterIPs spec/ipFamilies spec/ipFamilyPolicy spec/internalTrafficPolicy spec/ports spec/selector", note: "as the type changes"},
}

var (
	autoscaler   = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`
	autoscalerV1 = `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, maxReplicas: 5, targetCPUUtilizationPercentage: 50}}`
	daemon       = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: "main:1"}]}}}}`
)

// sameAs is a case in which what is applied next is another way to write the same.
func sameAs(first, next string) prediction {
	return prediction{before: []step{convoy(first)}, desired: next, unchanged: true}
}

var equalValues = map[string]prediction{
	"1 and 1000m":                   sameAs(container(`, resources: {limits: {cpu: 1}}`), container(`, resources: {limits: {cpu: 1000m}}`)),
	"1Gi and 1024Mi":                sameAs(container(`, resources: {limits: {memory: 1Gi}}`), container(`, resources: {limits: {memory: 1024Mi}}`)),
	"0.1 of a processor":            again(container(`, resources: {requests: {cpu: 0.1, memory: 131072Ki}}`)),
	"false":                         sameAs(oneContainer, container(`, tty: false`)),
	"an empty list":                 sameAs(oneContainer, container(`, env: []`)),
	"null":                          sameAs(oneContainer, container(`, command: null`)),
	"an empty value":                again(container(`, env: [{name: A, value: ""}]`)),
	"zero":                          then(replicas, deployment("replicas: 0,", `containers: [{name: main, image: "main:1"}]`)),
	"an empty directory":            again(deployment("", `volumes: [{name: v, emptyDir: {}}], containers: [{name: main, image: "main:1"}]`)),
	"base64 of two lines":           again(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, binaryData: {a: "aGVs\nbG8=\n"}}`),
	"a port by name":                then(service(`selector: {app: x}, ports: [{port: 80, targetPort: web}]`), service(`selector: {app: x}, ports: [{port: 80, targetPort: 8080}]`)),
	"a port as text":                {desired: service(`selector: {app: x}, ports: [{port: 80, targetPort: "80"}]`), server: "must contain at least one letter"},
	"a surge":                       then(deployment("strategy: {rollingUpdate: {maxSurge: 25%}},", `containers: [{name: main, image: "main:1"}]`), deployment("strategy: {rollingUpdate: {maxSurge: 1}},", `containers: [{name: main, image: "main:1"}]`)),
	"plain text of a Secret":        again(secret(`stringData: {u: root}`)),
	"a Secret both ways":            sameAs(secret(`stringData: {u: root}`), secret(`data: {u: cm9vdA==}`)),
	"a key less in a Secret":        then(secret(`stringData: {u: root, p: p}`), secret(`stringData: {u: root}`)),
	"data under plain text":         then(secret(`data: {u: cm9vdA==}`), secret(`data: {u: cm9vdA==}, stringData: {u: toor}`)),
	"a Secret by another":           {before: []step{convoy(secret(`stringData: {u: root}`)), patched("other", secret(`stringData: {u: other}`))}, desired: secret(`stringData: {u: root}`)},
	"a truth for text":              {desired: configMap(`a: true`), schema: "expected string, got"},
	"text for a number":             {desired: deployment(`replicas: "3",`, `containers: [{name: main, image: "main:1"}]`), schema: "expected numeric"},
	"an unknown field":              {desired: deployment(`replica: 3,`, `containers: [{name: main, image: "main:1"}]`), schema: ".spec.replica: field not declared in schema"},
	"a quantity that is none":       {desired: container(`, resources: {limits: {cpu: much}}`), schema: "quantities must match the regular expression"},
	"a port that is none":           {before: []step{convoy(webService)}, desired: service(`selector: {app: x}, ports: [{name: web, port: 99999}]`), server: "must be between 1 and 65535"},
	"an autoscaler in two versions": {before: []step{convoy(autoscalerV1)}, desired: autoscaler, unchanged: true},
	"from a version to another":     {before: []step{convoy(autoscaler)}, desired: autoscalerV1, unchanged: true},
	"a target in another version":   {before: []step{convoy(autoscaler), patched("other", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {targetCPUUtilizationPercentage: 70}}`)}, desired: autoscaler},
	"a maximum in another version":  {before: []step{convoy(autoscaler), patched("other", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {maxReplicas: 7}}`)}, desired: autoscaler},
	"a minimum of another":          {before: []step{convoy(autoscaler), patched("other", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {minReplicas: 2}}`)}, desired: autoscaler, unchanged: true},
}

var creates = map[string]prediction{
	"a Deployment":                        {desired: withEnv},
	"a StatefulSet":                       {desired: stateful},
	"a DaemonSet":                         {desired: daemon},
	"a ConfigMap":                         {desired: configMap("a: b")},
	"a Secret":                            {desired: secret(`stringData: {u: root}`)},
	"a RoleBinding":                       {desired: binding},
	"webhooks":                            {desired: webhooks},
	"an autoscaler":                       {desired: autoscaler},
	"a Service":                           {desired: webService, short: "spec/clusterIP spec/clusterIPs spec/ipFamilies spec/ipFamilyPolicy", note: "sets its cluster IPs"},
	"a node port":                         {desired: service(`type: NodePort, selector: {app: x}, ports: [{name: web, port: 80}]`), short: "spec/clusterIP spec/clusterIPs spec/ipFamilies spec/ipFamilyPolicy spec/ports", note: "node ports"},
	"a Job":                               {desired: job, short: "spec/selector spec/template/metadata metadata/labels spec/manualSelector", note: "sets its selector"},
	"a Namespace":                         {desired: `{apiVersion: v1, kind: Namespace, metadata: {name: NS-more}}`, short: "spec metadata/labels", note: "finalizer"},
	"a claim":                             {desired: claim, short: "metadata/finalizers", note: "finalizer"},
	"a definition":                        {desired: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.NS.example.com}, spec: {group: NS.example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`},
	"a definition with a minimum of zero": {desired: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.NS.example.com}, spec: {group: NS.example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {n: {type: integer, minimum: 0}}}}}}}]}}`},
	"where there is no namespace":         {desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NS-none}}`, schema: `namespaces "`},
}

var (
	job    = `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "main:1"}]}}}}`
	claim  = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	frozen = with(configMap("a: b"), "immutable: true")
	class  = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS}, provisioner: example.com/a}`
)

// refusedByServer is a change that the server refuses, with a note that says so.
func refusedByServer(first, next, field, words string) prediction {
	return prediction{before: []step{convoy(first)}, desired: next, server: words, note: field + " of a "}
}

var immutableFields = map[string]prediction{
	"a selector": refusedByServer(oneContainer,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {matchLabels: {app: z}}, template: {metadata: {labels: {app: z}}, spec: {containers: [{name: main, image: "main:1"}]}}}}`,
		"spec.selector", "field is immutable"),
	"a Job's template":        refusedByServer(job, `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "main:2"}]}}}}`, "spec.template", "field is immutable"),
	"a StatefulSet's service": refusedByServer(stateful, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {serviceName: z, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: "main:1"}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`, "spec.serviceName", "field is immutable"),
	"a claim":                 refusedByServer(claim, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`, "spec.accessModes", "spec is immutable"),
	"a cluster IP":            refusedByServer(webService, service(`clusterIP: None, selector: {app: x}, ports: [{name: web, port: 80}]`), "spec.clusterIP", "clusterIP"),
	"an immutable ConfigMap":  refusedByServer(frozen, with(configMap("a: c"), "immutable: true"), "data", "field is immutable"),
	"immutable no more":       refusedByServer(frozen, configMap("a: b"), "immutable", "field is immutable"),
	"an immutable Secret":     refusedByServer(secret("immutable: true, stringData: {a: b}"), secret("immutable: true, stringData: {a: c}"), "data", "field is immutable"),
	"a Secret's type":         refusedByServer(secret("type: a"), secret("type: b"), "type", "field is immutable"),
	"a role":                  refusedByServer(binding, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: other}, subjects: [{kind: ServiceAccount, name: s, namespace: NS}]}`, "roleRef", "field is immutable"),
	"a storage class":         refusedByServer(class, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS}, provisioner: example.com/b}`, "provisioner", "field is immutable"),
	"a priority":              refusedByServer(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NS}, value: 7}`, `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NS}, value: 8}`, "value", "may not be changed"),
	"what may change":         {before: []step{convoy(stateful)}, desired: with(stateful, `metadata: {name: x, annotations: {a: b}}`)},
}

// widgets define a kind with what makes structural schemas hard, in two versions.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.convoy.dev}
spec:
  group: test.convoy.dev
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              replicas: {type: integer, default: 1}
              size: {type: string, default: small}
              ratio: {type: number}
              port: {x-kubernetes-int-or-string: true}
              maybe: {type: string, nullable: true}
              maybeSet: {type: string, nullable: true, default: set}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              keyed:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, proto]
                items:
                  type: object
                  required: [port]
                  properties: {port: {type: integer}, proto: {type: string, default: TCP}, name: {type: string}}
              atom:
                type: array
                x-kubernetes-list-type: atomic
                items: {type: object, properties: {a: {type: string}, b: {type: string, default: bee}}}
              flat: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              table: {type: object, additionalProperties: {type: object, properties: {x: {type: integer, default: 7}}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  - name: v1beta1
    served: true
    storage: false
    schema: *schema
`

var customResources = map[string]prediction{
	"created":                          {desired: widget("v1", `keyed: [{port: 80}], atom: [{a: x}], table: {t: {}}`)},
	"as it was":                        again(widget("v1", `keyed: [{port: 80}], atom: [{a: x}], table: {t: {}}, port: 80, ratio: 1.0`)),
	"nothing in it":                    again(widget("v1", ``)),
	"a number":                         sameAs(widget("v1", `ratio: 1`), widget("v1", `ratio: 1.0`)),
	"a port by name":                   then(widget("v1", `port: 80`), widget("v1", `port: web`)),
	"an item by its keys":              then(widget("v1", `keyed: [{port: 80}]`), widget("v1", `keyed: [{port: 80, name: web}]`)),
	"an item more":                     then(widget("v1", `keyed: [{port: 80}]`), widget("v1", `keyed: [{port: 80, proto: UDP}, {port: 80}]`)),
	"an item of another":               {before: []step{convoy(widget("v1", `keyed: [{port: 80}]`)), by("other", widget("v1", `keyed: [{port: 81}]`))}, desired: widget("v1", `keyed: [{port: 80}]`), unchanged: true},
	"a set":                            {before: []step{convoy(widget("v1", `set: [a, b]`)), by("other", widget("v1", `set: [c]`))}, desired: widget("v1", `set: [a]`)},
	"an atomic list":                   then(widget("v1", `atom: [{a: x}, {a: z, b: c}]`), widget("v1", `atom: [{a: z}]`)),
	"an atomic map":                    {before: []step{convoy(widget("v1", `flat: {a: b}`)), patched("other", widget("v1", `flat: {c: d}`))}, desired: widget("v1", `flat: {a: b}`)},
	"a default removed":                then(widget("v1", `size: large`), widget("v1", ``)),
	"null with a default":              again(widget("v1", `size: null`)),
	"null that may be":                 again(widget("v1", `maybe: null, maybeSet: null`)),
	"null that may not be":             {desired: widget("v1", `ratio: null`), server: "must be of type number"},
	"unknown where it may be":          {before: []step{convoy(widget("v1", `free: {a: {b: c}}`)), patched("other", widget("v1", `free: {a: {d: e}}`))}, desired: widget("v1", `free: {a: {b: f}}`)},
	"an object in an object":           then(widget("v1", `embedded: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}`), widget("v1", `embedded: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: c}}`)),
	"an unknown field":                 {desired: widget("v1", `sice: large`), schema: ".spec.sice: field not declared in schema"},
	"a wrong type":                     {desired: widget("v1", `size: 7`), schema: ".spec.size: expected string"},
	"twice the same keys":              {desired: widget("v1", `keyed: [{port: 80}, {port: 80}]`), schema: "duplicate entries for key"},
	"in another version":               sameAs(widget("v1", `keyed: [{port: 80}], atom: [{a: x}]`), widget("v1beta1", `keyed: [{port: 80}], atom: [{a: x}]`)),
	"a field in another version":       {before: []step{convoy(widget("v1beta1", `size: large`)), patched("other", widget("v1", `size: huge`))}, desired: widget("v1beta1", `size: large`)},
	"a field less, in another version": then(widget("v1beta1", `size: large, set: [a]`), widget("v1", `set: [a]`)),
	"a manager in another version":     {before: []step{convoy(widget("v1", `set: [a]`)), by("other", widget("v1beta1", `set: [b]`))}, desired: widget("v1", `set: []`)},
	"created in another version":       {desired: widget("v1beta1", `size: null, keyed: [{port: 80}]`)},
	"scaled":                           {before: []step{convoy(widget("v1", `replicas: 2`)), scaled(widget("v1", ``), 5)}, desired: widget("v1", `replicas: 2`)},
	"scaled, and left to them":         {before: []step{convoy(widget("v1", `replicas: 2`)), scaled(widget("v1", ``), 5)}, desired: widget("v1", ``), unchanged: true},
	"managed fields cleared":           {before: []step{convoy(widget("v1", `set: [a]`)), cleared(widget("v1", ``))}, desired: widget("v1", `set: [b]`)},
	"kubectl apply":                    {before: []step{clientSide(widget("v1", `set: [a]`))}, desired: widget("v1", `set: [b]`)},
}

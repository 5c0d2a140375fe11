"""Words that messages are made of, to tell them from names: another word is another error, another name is not.

    is_ordinary("started")  ->  True
    is_ordinary("frobq")    ->  False

Levelled forms (see `error_masks.level`) of the words that stand most often in the comments and docstrings of Python's
standard library and common packages, and of terms of compilers, shells and databases. Words whose ending tells are
not listed.
"""

_ENDINGS = (
    "ing", "ed", "tion", "sion", "able", "ible", "ment", "ness", "ly", "ive", "ity", "ous", "ance", "ence", "ful",
    "less",
)  # fmt: skip
_SHORTEST_WITH_ENDING = 6


def is_ordinary(word: str) -> bool:
    """Whether this levelled word is one that people write messages with."""
    return word in _WORDS or (len(word) >= _SHORTEST_WITH_ENDING and word.endswith(_ENDINGS))


_WORDS_TEXT = """
    a abi able abort about above abs absent absolute abstract accept access accessor accidental account accumulate
    accuracy accurate achieve acquire across act activate actual adapt adapter add additional address adjacency adjacent
    adjust advantage affect affiliate after afterward again against age aggregate agree ahead aid aka algebraic
    algorithm alia align alive all allocate allocator allow almost alone along alongside alpha alphabet alphabetic
    alphabetical alphanumeric already also alt alter alternate although altogether ambient among amongst amount analysis
    analyze analyzer ancestor anchor and angle angular annotate another answer any anymore anyone anyway anywhere apart
    api app appear append approach appropriate approximate arbitrary architecture area arg argparse argv arise
    arithmetic arity around array arrow article artifact as ascribe ask aspect assert asset assign associate assume ast
    asymptotic async asyncio at atom atomic attach attack attempt attr attribute auth author auto automatic autoref
    auxiliary average avoid await aware away back backend background backslash backtrace backtrack backup backward bad
    bail bare base basename bash basic basis batch be became because become been before begin behave behavior behaviour
    behind being believe belong below benefit beside best better between beyond big bigger bin binary bind bit bitmap
    bitwise black blank blob block blow blue body bold book boolean bootstrap border borrow both bother bottom bound
    boundary box brace bracket branch break breakpoint brief broken browser bucket budget buffer bug build builder built
    builtin bunch bundle but button by bypass byte bytearray bytecode cache calculate call callback caller came can
    cancel candidate cannot canonical cap capture care caret cargo carriage carry case cast catch category caught cause
    cell center central cert certain certificate chain change channel char character characteristic charge charset cheap
    check checker checkout checksum child children choice choose chosen chunk circle circuit circular claim clash class
    classic classmethod clause clean cleanup clear cli click client clock clone close closer closest closure cluster cmd
    code codec codepoint coefficient coerce coercion col collapse collect collector colon color column combine come
    comma command commit common compact compare comparison compat compile compiler complain complete completer complex
    compliant component compose composite compound compress compute computer concatenate concept concrete concurrency
    concurrent cond conditional config configure confirm conflict conform confuse conjugate connect consider consist
    consistency consistent console const constant constraint construct constructor consult consume consumer contact
    contain container content context contextmanager continue contract contrast contravariant contribute contributor
    control convenient converge convert converter cookie coordinate copy copyright core corner coroutine correct
    correspond corrupt cost could count counter couple course covariant cover coverage crash crate create credential
    criteria critical cron cross ctype current cursor curve custom customer customize cut cutoff cwd cycle cyclic daemon
    dark dash data database dataclass date datetime day dbg dead deadline deadlock deal debug debugger decide decimal
    declare decode decoder decorate decorator decrease decrypt dedent deep deepcopy deeper default defer define definite
    degree del delay delegate delete delimiter deliver demand denom denominator denote dense deny dep depend dependency
    dependent deploy depth deque descendant describe descriptor design desktop despite dest destructor detach detail
    detect detector determinant determine deterministic dev developer device diagnostic diagonal diagram dialog dict
    dictionary did diff differ different differential differentiate difficult digest digit digraph dim dimensional dir
    direct directory dirname dirty disallow discard disconnect discover discovery discrete discriminant disjoint disk
    dispatch display dist distinct distinguish distribute distutil div divide divisor do doc docker doctest docutil doe
    doing domain done dot double down download downstream draft draw drawn drive driver drop dst dual due dumb dummy
    dump dunder duplicate dyn dynamic dynamicsymbol each eager earlier ease easier easiest easy echo edge edit editor
    effect efficiency efficient effort egg eigenvalue either elementary elide eliminate ellipsis else elsewhere email
    emit emitter emoji empty emulate encode encoder encounter encrypt end endpoint enforce engine enough ensure enter
    entire entry entrypoint enum enumerate env environ eof epoch eps equal equivalent erase err errno error escape
    essential establish estimate etingof eval evalf evaluate even event ever every everywhere evict exact examine
    example exc except exchange exclude exec execute executor exist exit exp expand expect experimental expire expiry
    explain explicit exponent exponential export expose expr express ext extend extern external extra extract eye facade
    face facilitate fact factor factorial factory fail failure fake fall fallback fallthrough false familiar fancy far
    fashion fast faster fastest fatal fault favor feature fed feed fetch few fewer fiber field figure file filename
    fileobj filesystem fill filter final find finder fine finish finite fire firewall first fit five fix fixture fixup
    flag flat flatten float floor flow flush fly fmt fn fname focus fold folder follow font footer for forbidden force
    foreground foreign forever forget fork form formal format formatter former formula forth forward found four fourth
    frac fractional frame framework free freeze frequency fresh friend from front frontend frozen frozenset full
    fullname func functional functool fundamental further future gap garbage gateway gather gave gcd gem gen gencodec
    general generate generator generic geometric geometry get getattr getter git give given glob global glue gmail go
    goal goe going gone good goodger goroutine got goto gotten grab gradle grammar grant graph graphic great greater
    greatest greedy green grid ground group grow guarantee guard guess guide gzip hack had half hand handle handler
    handshake handy hang happen happy hard harder hardware hash have head header heap heavy height held hello help
    helper hence here hereby heuristic hex hexadecimal hidden hide hierarchical hierarchy high higher highest highlight
    highlighter hint historical history hit hold home hook hope horizontal host hostname hot hour how however htest html
    httplib huge human hyphen hypothesis idea ideal idempotent ident identical identifier identify idle ids if iff
    ignore illegal image imaginary immediate impact impl implement implicit import important importer importlib improve
    in incident include incomplete inconsistent incorrect increase incremental indefinite indent independent
    indeterminate index indicate indicator indice indirect individual inefficient infer infinite info inform infty
    inherent inherit init initial initialize initializer inject inline inner innermost input insert inside inspect
    install installer instanceof instantiate instead insufficient int intact integer integral integrate intend intent
    intentional interact interest interface interfere intermediate internal interpret interpreter interrupt intersect
    interval into intrinsic introduce invalid invalidate invariant inverse invert investigate invoke involve ipython
    irrational irrelevant is isomorphic isomorphism issue it italic item iter iterate iterator itertool its itself
    jaraco jedi job join journal json jsonschema jump junk just justify keep kept kernel key keyboard keyof keystore
    keyword kill kind know knowledge known kwarg label lack lambda language large larger largest last late later latest
    latex latter launch law layer layout lazy ldot lead leader leaf leak lease least leave left leftmost leftover legacy
    legal lemburg len length lenient leq less lesser let letter level levelname lex lexer lexical lexicographic lib libc
    libcst library license lie lifecycle lifetime light lightweight like limit line linear lineno link linkage linker
    lint linux list listen listener literal little live load loader loc local locale localhost locate lock log logarithm
    logarithmic logger logic logical login lone long longer longest look lookahead lookup loop loose lose loss lossy
    lost lot low lower lowercase lowest machine machinery macro made magenta magic magnitude main maintain major make
    man manage manager mandatory mangle manifest manipulate manner mantissa manual many map margin mark marker markup
    mask mass master match matcher math mathematical matrix matter max maximal maximum may maybe me mean meant measure
    mechanism media meet member membership memo memory menu merge mess message met meta metaclass metadata method metric
    microsecond middle middleware might millisecond mimetype mimic min mind minimal minimize minimum minor minus minute
    mirror misc mismatch miss mistake mix mixin mock mod mode model modern modifier modify module modulo modulus monic
    monitor monomial monospace month more most mount mouse move msg mtime much multi multigraph multiline multipart
    multiple multivariate must mut mutate mutex my naive name namedtuple nameserver namespace narrow narrower nasty
    natural nature near nearest necessary need neg neighbor neither network never new newer newest newline next nice
    nicer nil no node nodeid noise non none nonempty nonexistent nonlinear nonlocal nonzero nor norm normal normalize
    not note notebook notice notify now null num number numeral numerator numeric numerical obey object observer
    obsolete obtain occur octal octet odd of off offer official offline offset often okay old older oldest omit on once
    one online only onto opaque opcode open openssl operand operate operator opposite opt optimal optimize optional or
    order ordinal ordinary origin original orm orphan orthogonal other otherwise our out outcome outer outermost outlet
    output outside over overall overflow overhead overlap overload overridden override overview overwrite overwritten
    own owner package pad page pager pair pairwise panic paper paragraph parallel param parameter parametric paren
    parent parenthesis parse parser part partial particular party pass password past paste patch path pathlib pathname
    pattern payload peer people per percent percentage perfect perform period periodic permit persist persistent person
    phase phrase physical pick pickle pid piece piecewise pin pip pipe pixel place placeholder plain plan plane platform
    play playbook please plot plugin plural plus pod point pointer poison polar pole policy poly polymorphic polynomial
    pool poor pop popular populate popup port positional posix post postfix potential power practical practice pragma
    pre precise predecessor predicate prefer prefix prepare prepend preprocess preprocessor prerelease prerequisite
    present preserve preset press pretend pretty prevent preview primary prime principal principle print printer prior
    private privilege probe problem problematic procedure process processor produce producer product profile prog
    program progress project promise promote prompt proof propagate proper property protect protocol prototype prove
    provide provider provisional proxy prune pseudo public publish publisher pull pure purge purpose push put python
    quadratic quantifier quantum query queue quick quiet quit quite quorum quota quote quotient race radius radix raise
    ran random range rank rare rate rather ratio rational rationale raw reach read reader readline ready real reason
    rebase rebuild receiver recent reciprocal recognize recommend reconnect reconstruct record recover recovery recreate
    rectangular recurse red redeclare redefine redirect redistribute reduce reducer redundant ref refactor refer refine
    reflect refresh refuse regenerate regex regexp region register registry regular reject relationship release relevant
    reload rely remain remainder remember remote removal remove rename render repeat replace replica repo report
    reporter repository represent reproduce req request require reraise reset residual resolve resolver resort resource
    respect respond response rest restart restore restrict result resultant resume retain retrieval retrieve retry
    return reuse reverse revert revoke rewind rewrite rewritten rich rid right rightmost ring risk robust role rollback
    room root rotate round route routine row rule run runner runtime safe safety said sake same sample sandbox sane
    satisfy save say scalar scale scan scenario schedule scheduler schema scheme scientific scope score screen script
    scroll seal search second secondary secret secure see seealso seed seek seem seen select selector semantic semicolon
    send sense sent sentinel separate separator seq sequential serial serialize serializer serve server service set
    setter setup several shadow shall shallow shape shard share shebang shell shift shim short shortcut shorter shortest
    shorthand should show shown shrink shut shutdown side sign signal signature significant signify silent similar
    simple simpler simplest simplify simulate since single singleton singular sink site six size sizeof skip slash slave
    sleep slice slot slow slower small smaller smallest smart smarter snapshot snippet so socket soft software sole
    solid solve solver some somehow someone sometime somewhat somewhere soon sort source sourcecode space span sparse
    spawn spec special specific specifier specify speedup split spot spread square src ssl stack stage stale stand
    standalone standard standby star start startup stat state static staticmethod statistic status stay std stderr stdin
    stdlib stdout step stick still stop storage store straight straightforward strange strategy stray stream strict
    stride strip strong struct structural structure stub stuck stuff style sub subclass subcommand subdirectory subgraph
    subject sublicense submit submodule subnet subprocess subquery subroutine subscript subsequent subset substantial
    substitute subtle subtract subtree subtype success successor such sufficient suffix sugar suggest suite sum summary
    super superclass superset supertype support suppose suppress sure surface surrogate suspend swap switch sym symbol
    symbolic symlink symmetric symmetry sync syntactic syntax sys sysconfig system tab table tag tail take taken tar
    target task team teardown technique tell temp tempfile template temporary tenant tend term terminal terminate
    terminator ternary test testcase text textual than thank that the their them theme then theorem theory there thereby
    therefore thereof these they thin thing think third this those though thought thread three threshold through
    throughout throw thrown thus tick tie tied tier tilde tile till time timedelta timeout timer timestamp timezone tiny
    title to together toggle token tokenize tokenizer told too took tool toolchain top topic toplevel topmost
    topological total touch toward trace traceback track tracker traditional traffic trait transcendental transfer
    transform transient translate transmute transparent transport transpose trap traversal traverse treat tree triangle
    triangular trick tricky trigger trigonometric trim triple trivial trouble true truncate trust truth truthy try tty
    tunnel tuple turn twice two type typedef typename typeof typical ugly unary unbound unclear under underflow
    underline underneath underscore understand understood undo unequal unfortunate unicode uniform unify uninstall union
    unique unit unittest univariate universal unix unknown unlike unlock unmount unnecessary unpack unsafe unset until
    unusual unwrap up update upgrade upload upon upper uppercase upsert upstream upward uri url us usage use used user
    username using usize usual util val valid validate validator value var variadic variant variety vary vault vector
    vendor verbatim verbose verify vertex vertical very via vice view viewer violate virtual virtualenv visit visitor
    visual void volatile volume wait waiter wake walk want warn warranty waste watch watcher way we weak weakref web
    webhook weight weird welcome well went what whatever wheel when whenever where whether which whichever while white
    whitespace who whole whom whose why wide wider widget width wild wildcard will win window wire wish with within
    without word work workaround worker workspace world worry worse worst worth would wrap wrapper write writer written
    wrong wrote xml yaml year yes yet yield you your yourself zero zip zone
"""
_WORDS = frozenset(_WORDS_TEXT.split())

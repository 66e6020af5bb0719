CREATE TABLE public.wsgiauth_attempt_count (
    id character varying(64) NOT NULL,
    retry_at bigint NOT NULL,
    count integer NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.wsgiauth_event (
    id bigint NOT NULL,
    "time" bigint NOT NULL,
    name character varying(32) NOT NULL,
    user_id bigint,
    actor character varying(32) NOT NULL,
    system_user character varying(64),
    address character varying(64),
    reason text
);
CREATE SEQUENCE public.wsgiauth_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.wsgiauth_event_id_seq OWNED BY public.wsgiauth_event.id;
CREATE TABLE public.wsgiauth_failed_logins (
    id character varying(64) NOT NULL,
    lines character varying(1000) NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.wsgiauth_former_password (
    user_id bigint NOT NULL,
    scheme character varying(32) NOT NULL,
    parameters character varying(64) NOT NULL,
    salt character varying(255) NOT NULL,
    hash_start character varying(29) NOT NULL
);
CREATE TABLE public.wsgiauth_group (
    id bigint NOT NULL,
    name character varying(150) NOT NULL,
    name_key character varying(150) NOT NULL
);
CREATE SEQUENCE public.wsgiauth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.wsgiauth_group_id_seq OWNED BY public.wsgiauth_group.id;
CREATE TABLE public.wsgiauth_group_permission (
    group_id bigint NOT NULL,
    name character varying(100) NOT NULL
);
CREATE TABLE public.wsgiauth_identity (
    id character varying(64) NOT NULL,
    user_id bigint NOT NULL,
    provider character varying(32) NOT NULL,
    issuer character varying(255) NOT NULL,
    subject character varying(255) NOT NULL,
    name character varying(100) NOT NULL,
    joined text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL
);
CREATE TABLE public.wsgiauth_key (
    id character varying(12) NOT NULL,
    user_id bigint NOT NULL,
    name character varying(100) NOT NULL,
    digest character varying(64) NOT NULL,
    permissions text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    last_used_at bigint
);
CREATE TABLE public.wsgiauth_mail (
    id character varying(32) NOT NULL,
    kind character varying(32) NOT NULL,
    name character varying(254) NOT NULL,
    user_id bigint,
    data text NOT NULL,
    due_at bigint NOT NULL,
    attempts integer NOT NULL,
    expires_at bigint NOT NULL,
    language character varying(35) DEFAULT ''::character varying NOT NULL
);
CREATE TABLE public.wsgiauth_membership (
    group_id bigint NOT NULL,
    user_id bigint NOT NULL
);
CREATE TABLE public.wsgiauth_migration (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.wsgiauth_migration_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.wsgiauth_migration_id_seq OWNED BY public.wsgiauth_migration.id;
CREATE TABLE public.wsgiauth_one_time (
    id character varying(64) NOT NULL,
    purpose character varying(32) NOT NULL,
    user_id bigint,
    stamp integer NOT NULL,
    subject character varying(64),
    data text NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.wsgiauth_passkey (
    id character varying(64) NOT NULL,
    user_id bigint NOT NULL,
    name character varying(50) NOT NULL,
    credential_id text NOT NULL,
    public_key text NOT NULL,
    sign_count bigint NOT NULL,
    relying_party character varying(253) NOT NULL,
    user_handle character varying(86) NOT NULL,
    transports character varying(64) NOT NULL,
    is_backed_up boolean NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL
);
CREATE TABLE public.wsgiauth_permission (
    user_id bigint NOT NULL,
    name character varying(100) NOT NULL
);
CREATE TABLE public.wsgiauth_provider_session (
    session_id character varying(43) NOT NULL,
    identity_id character varying(64) NOT NULL,
    sid character varying(64) NOT NULL,
    is_first boolean NOT NULL,
    authenticated_at bigint
);
CREATE TABLE public.wsgiauth_session (
    id character varying(43) NOT NULL,
    user_id bigint NOT NULL,
    stamp integer NOT NULL,
    created_at timestamp without time zone NOT NULL,
    expires_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    idle integer NOT NULL,
    authenticated_at bigint NOT NULL,
    methods character varying(64) NOT NULL,
    generation integer NOT NULL,
    refreshed_at bigint NOT NULL,
    address character varying(64) NOT NULL,
    agent character varying(255) NOT NULL,
    unused integer DEFAULT 0 NOT NULL,
    reissued integer DEFAULT 0 NOT NULL,
    reissued_for integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.wsgiauth_totp (
    id character varying(32) NOT NULL,
    user_id bigint NOT NULL,
    name character varying(50) NOT NULL,
    salt character varying(64) NOT NULL,
    counter bigint NOT NULL,
    created_at bigint NOT NULL,
    confirmed_at bigint NOT NULL,
    key_id character varying(16) DEFAULT ''::character varying NOT NULL
);
CREATE TABLE public.wsgiauth_trusted_browser (
    id character varying(16) NOT NULL,
    user_id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    stamp integer NOT NULL,
    factors character varying(64) NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    expires_at bigint NOT NULL,
    address character varying(64) NOT NULL,
    agent character varying(255) NOT NULL
);
CREATE TABLE public.wsgiauth_user (
    id bigint NOT NULL,
    username character varying(150) NOT NULL,
    username_key character varying(150) NOT NULL COLLATE pg_catalog."C",
    email character varying(254) NOT NULL,
    email_key character varying(254) NOT NULL COLLATE pg_catalog."C",
    hashed_password character varying(60) NOT NULL,
    security_stamp integer NOT NULL,
    is_active boolean NOT NULL,
    is_staff boolean NOT NULL,
    is_superuser boolean NOT NULL,
    created_at timestamp without time zone NOT NULL,
    email_verified_at timestamp without time zone,
    last_login_at timestamp without time zone,
    language character varying(35) DEFAULT ''::character varying NOT NULL,
    locks integer DEFAULT 0 NOT NULL,
    email_verified_by character varying(255) DEFAULT ''::character varying NOT NULL
);
CREATE SEQUENCE public.wsgiauth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.wsgiauth_user_id_seq OWNED BY public.wsgiauth_user.id;
ALTER TABLE ONLY public.wsgiauth_event ALTER COLUMN id SET DEFAULT nextval('public.wsgiauth_event_id_seq'::regclass);
ALTER TABLE ONLY public.wsgiauth_group ALTER COLUMN id SET DEFAULT nextval('public.wsgiauth_group_id_seq'::regclass);
ALTER TABLE ONLY public.wsgiauth_migration ALTER COLUMN id SET DEFAULT nextval('public.wsgiauth_migration_id_seq'::regclass);
ALTER TABLE ONLY public.wsgiauth_user ALTER COLUMN id SET DEFAULT nextval('public.wsgiauth_user_id_seq'::regclass);
INSERT INTO public.wsgiauth_attempt_count VALUES ('6454ee22bdfb632aa6cfd1fa42f58826b54ef24d61f2aaf8dd876ef5ebe13f85', 0, 1, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('216bf9934fc3723184b37adfdd7efd3ddaaf828d13ebb95108b461f4962ee685', 0, 1, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('9a4aad6327ac1800b12418f15d1cb047ee93a00eddfdd65545ef7efceddfb064', 0, 1, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('144dfa34853c20596be17a102354dd230add649349c7af336b0a923e8ec40e9c', 0, 1, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('bb06b16337d2ad2ec44f5a4d5ca0eb94b68f4f825baf4cf148ea0707114360d4', 0, 2, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('8fc16a77b7c9e3afa8a132f04d083576aa2d2378cbdcedc960de4a2c6bd3465a', 0, 0, 1795816925);
INSERT INTO public.wsgiauth_attempt_count VALUES ('2e68e8be3a44f65f8641464f30da5c35e0ce1cda18977cc4799ce8ff81b16187', 0, 0, 1795734126);
INSERT INTO public.wsgiauth_attempt_count VALUES ('63b99923fcf5b533ed0aa3650fe3bca0faf93d2d05021ff0c771efec15a8a064', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('c1646a50d382511b2a6e943a6e008c144067d428fcfcca6721baa2267c99e72f', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('18e0f9fad937c5149a5cef87be590513914d253b8e3556f1e52f47e9a9b30dc0', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('e7e9346659fee3b2b7658e65d769e67e1ae9238d60032f33a00b999c02ae1f58', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('46f85bba4d825adedf0e5376a5c1a53cf66ef8da79ba03451e36a25082be826c', 0, 0, 1795816926);
INSERT INTO public.wsgiauth_attempt_count VALUES ('fe2a10c5a417c2c5188d767f78bb225b351d4b4c0a82d1a3a846373ae6f2bfb1', 0, 0, 1795816926);
INSERT INTO public.wsgiauth_attempt_count VALUES ('b780d740f957c37018eeb0b788ecd5a145d348bf9d04211441c016f0a3a53040', 0, 1, 1795734125);
INSERT INTO public.wsgiauth_attempt_count VALUES ('1d40c657fabbb427ebef164a93efa94e4450e82c2c178da970ae3e1f59c61415', 0, 1, 1795730586);
INSERT INTO public.wsgiauth_attempt_count VALUES ('938beaa5984c4be90ff7cbe81203a184d858803ec9e4f1c1481d68ffe5bc6783', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('dbf1fa4c8bfc669850ba96a31b6a75fc862a4d59ccc92c4635f14f19d9c4aae4', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_attempt_count VALUES ('1bcfe91f8dc283de6438c7a85c4f3b6a0c6959623d0951c9a7fb2ec93135e54c', 0, 0, 1798322526);
INSERT INTO public.wsgiauth_event VALUES (1, 1795730525, 'registration', 1, 'user 1', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (2, 1795730525, 'rights_changed', 1, 'code', NULL, NULL, 'is_staff on');
INSERT INTO public.wsgiauth_event VALUES (3, 1795730525, 'rights_changed', 1, 'code', NULL, NULL, 'is_superuser on');
INSERT INTO public.wsgiauth_event VALUES (4, 1795730525, 'rights_changed', 1, 'code', NULL, NULL, 'granted reports.read');
INSERT INTO public.wsgiauth_event VALUES (5, 1795730525, 'key_created', 1, 'code', NULL, NULL, 'wNcdNPoiGSZQ');
INSERT INTO public.wsgiauth_event VALUES (6, 1795730525, 'group_changed', NULL, 'code', NULL, NULL, 'created Editors');
INSERT INTO public.wsgiauth_event VALUES (7, 1795730525, 'group_changed', NULL, 'code', NULL, NULL, 'granted pages.edit to Editors');
INSERT INTO public.wsgiauth_event VALUES (8, 1795730525, 'registration', 2, 'code', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (9, 1795730525, 'rights_changed', 2, 'code', NULL, NULL, 'joined Editors');
INSERT INTO public.wsgiauth_event VALUES (10, 1795730525, 'registration', 3, 'code', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (11, 1795730525, 'registration', 4, 'code', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (12, 1795730525, 'identity_connected', 4, 'code', NULL, NULL, 'example');
INSERT INTO public.wsgiauth_event VALUES (13, 1795730525, 'login', 4, 'code', NULL, NULL, 'fed');
INSERT INTO public.wsgiauth_event VALUES (14, 1795730526, 'factor_added', 2, 'code', NULL, NULL, 'otp');
INSERT INTO public.wsgiauth_event VALUES (15, 1795730526, 'factor_added', 2, 'code', NULL, NULL, 'recovery codes');
INSERT INTO public.wsgiauth_event VALUES (16, 1795730526, 'factor_added', 2, 'code', NULL, NULL, 'passkey');
INSERT INTO public.wsgiauth_event VALUES (17, 1795730526, 'login', 2, 'user 2', NULL, NULL, 'pwd otp');
INSERT INTO public.wsgiauth_event VALUES (18, 1795730526, 'trust_given', 2, 'user 2', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (19, 1795730526, 'logout', 2, 'user 2', NULL, NULL, NULL);
INSERT INTO public.wsgiauth_event VALUES (20, 1795730526, 'login', 1, 'user 1', NULL, NULL, 'pwd');
INSERT INTO public.wsgiauth_failed_logins VALUES ('52d786b32905d8ed4785493941b176eb06af6370c7e0672346cd180b46731a36', '1795730525	wrong password	
', 1795820400);
INSERT INTO public.wsgiauth_former_password VALUES (3, 'scrypt', 'n=16,r=8,p=1,l=64', 'c2FsdA==', '$2b$04$bWCHFmFa6Qtn4J3BnLzPOe');
INSERT INTO public.wsgiauth_group VALUES (1, 'Editors', 'editors');
INSERT INTO public.wsgiauth_group_permission VALUES (1, 'pages.edit');
INSERT INTO public.wsgiauth_identity VALUES ('c796ad335b9951382cb7d13aa25eb23f71bf7c3f9d2dd112e5bdb6d79b10e1b2', 4, 'example', 'https://accounts.example.com', 's-1', 's-1', '[]', 1795730525, 1795730525);
INSERT INTO public.wsgiauth_key VALUES ('wNcdNPoiGSZQ', 1, 'test', '01d7332f98ab7c451ff16bbbd4aa8551b8776967527601d15d8049b87e0dd881', 'reports.read', 1795730525, 1803506525, NULL);
INSERT INTO public.wsgiauth_mail VALUES ('05c6a0c4882ba99b395404cee571685f', 'address', 'ada@example.org', 1, '{"mount": "/auth", "stamp": 0, "present": "cfe00dde46ef942601ffafb9e2825e802858b460e586b8305b344c1eb826357d"}', 1795730525, 0, 1795816925, '');
INSERT INTO public.wsgiauth_mail VALUES ('809c79b2e6e181ed4e79edb141aced3e', 'reset', 'Ada', NULL, '{"mount": "/auth"}', 1795730525, 0, 1795816925, '');
INSERT INTO public.wsgiauth_mail VALUES ('536f9740478702ab81ccd82f69f0b3e6', 'notice key_created', '', NULL, '{"user_id": 1, "time": "26 November 2026 at 22:02 UTC", "at": 1795730525, "address": "", "browser": "Unknown browser", "reason": "wNcdNPoiGSZQ", "provider": "", "mount": "/auth", "username": "", "email": "ada@example.org", "factor": ""}', 1795730525, 0, 1795816925, '');
INSERT INTO public.wsgiauth_mail VALUES ('f86a799e8b8dd9bdf28881283db94a39', 'notice factor_added', '', NULL, '{"user_id": 2, "time": "26 November 2026 at 22:02 UTC", "at": 1795730526, "address": "", "browser": "Unknown browser", "reason": "otp", "provider": "", "mount": "/auth", "username": "", "email": "grace@example.org", "factor": ""}', 1795730526, 0, 1795816926, '');
INSERT INTO public.wsgiauth_mail VALUES ('6d42db6300b35ec99caeffc29c68f5a8', 'notice factor_added', '', NULL, '{"user_id": 2, "time": "26 November 2026 at 22:02 UTC", "at": 1795730526, "address": "", "browser": "Unknown browser", "reason": "recovery codes", "provider": "", "mount": "/auth", "username": "", "email": "grace@example.org", "factor": ""}', 1795730526, 0, 1795816926, '');
INSERT INTO public.wsgiauth_mail VALUES ('c70d2c21a6c11eeb4c1e6ac0f36de49a', 'notice factor_added', '', NULL, '{"user_id": 2, "time": "26 November 2026 at 22:02 UTC", "at": 1795730526, "address": "", "browser": "Unknown browser", "reason": "passkey", "provider": "", "mount": "/auth", "username": "", "email": "grace@example.org", "factor": ""}', 1795730526, 0, 1795816926, '');
INSERT INTO public.wsgiauth_mail VALUES ('5f454de1635394b443fe02644844f377', 'notice trust_given', '', NULL, '{"user_id": 2, "time": "26 November 2026 at 22:02 UTC", "at": 1795730526, "address": "", "browser": "Unknown browser", "reason": "", "provider": "", "mount": "/auth", "username": "", "email": "grace@example.org", "factor": ""}', 1795730526, 0, 1795816926, '');
INSERT INTO public.wsgiauth_membership VALUES (1, 2);
INSERT INTO public.wsgiauth_migration VALUES (1, '0001_schema', '2026-11-26 22:02:05.60749');
INSERT INTO public.wsgiauth_one_time VALUES ('6ec978a3f28c1ee162c32cefa6cc1e383598b154857816b6647a3f10d5e405b4', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('6eebd6cbdb28c7335844a6f000a46379a8eedde24019e78ce1a7e099aa6a0ea5', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('6ab1e6e6a23c5d4e5e41d881e1e9ef93072d4c9f91a2b9f0ffb251329fc2a369', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('521d84de97c0486c16f9066d1d755c5890c163887db56da41c9578d103a0a09d', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('8fa4bd8adf0b50f704f468a28e7183c8047d53293684714db420f7588b142683', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('de6c7d85e0ad1530812a2d8ccef4ca76cf6d01b2f8fa826d1353cdc2b45e871f', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('e73c3142e7b6012a9751cbbba303fd9812eb88782027c74c70c6bda8f54e124e', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('7f8cf907fe0ba1fde2e4739a605140dab0e4b12d8ec5d25db1ab7c26df12735e', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('3ba976b077d55e15c1b0f7469fc4e3b199bdb1fc0245f9112a76127eb733e536', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('cafe539a33a1f61443ffcb399e7597846673322c5f1c1bf0a3b498ccf27e9cc1', 'recovery', 2, 0, NULL, 'f1be4ebba6e2eda9', 4611686018427387904);
INSERT INTO public.wsgiauth_one_time VALUES ('f1a22b2470734b2e37668a2c73bc6b4ef81ac53124aecf4e860d0e902cdd01e3', 'used challenge', NULL, 0, NULL, '', 1795731186);
INSERT INTO public.wsgiauth_passkey VALUES ('c50322464c97661fc1e90f4005994a7c6f0fd60ab7d0e31008dd30b47a3f9ae2', 2, 'Laptop', 'U9vQBFs_upo1b3jk7xxN1JuAeOTpcn7uOr10hkz80Ds', 'pQECAyYgASFYIEEz6CabFlbOBivPJkeZOWe35wxPjEyBlNRnEfnrOmDSIlggOEP-p-ELpSEQdxduQSdd1b29DfLr59klasMBDxaxSZQ', 0, 'example.org', 'N687lyKNB98bFvMcP_Q-_U_ENhByRo9WidzPL4C1mDU', 'internal', false, 1795730526, 0);
INSERT INTO public.wsgiauth_permission VALUES (1, 'reports.read');
INSERT INTO public.wsgiauth_provider_session VALUES ('aGdYiokhzYsMXnFwReLX_A', 'c796ad335b9951382cb7d13aa25eb23f71bf7c3f9d2dd112e5bdb6d79b10e1b2', '', true, 1795730525);
INSERT INTO public.wsgiauth_session VALUES ('aGdYiokhzYsMXnFwReLX_A', 4, 0, '2026-11-26 22:02:05', 1795734125, 1795730525, 1795773725, 3600, 1795730525, 'fed', 0, 1795730525, '', '', 0, 0, 0);
INSERT INTO public.wsgiauth_session VALUES ('tnqYEF6qb98Dywb8gjzG-A', 1, 0, '2026-11-26 22:02:06', 1795773726, 1795730526, 1795773726, 0, 1795730526, 'pwd', 1, 1795730526, '', '', 0, 0, 0);
INSERT INTO public.wsgiauth_totp VALUES ('a4e0bf2529a59556', 2, 'Phone', '7f6a08f6d70f503b790c93f6b7743bb759179518efcdab7d2edffdf764aa20d0', 59857684, 1795730525, 1795730525, '534f3e11d396d5f9');
INSERT INTO public.wsgiauth_trusted_browser VALUES ('7750628c2c5a92ad', 2, '2907e4cf24bb0fb1285e86b93d2fe965d22720c50c93725d9cd41d254cbee895', 0, 'b556acf8cfe22d43006ff63529cf75a051445425c6ccd0d474b129b5ecd9fcd5', 1795730526, NULL, 1798322526, '', '');
INSERT INTO public.wsgiauth_user VALUES (3, 'wanda', 'wanda', 'wanda@example.org', 'wanda@example.org', '$2b$04$bWCHFmFa6Qtn4J3BnLzPOekWeHNcqb/0fXxpOYyfbwnosBomKq2mi', 0, true, false, false, '2026-11-26 22:02:05', NULL, NULL, '', 0, '');
INSERT INTO public.wsgiauth_user VALUES (4, 'norma', 'norma', 'norma@example.org', 'norma@example.org', '', 0, true, false, false, '2026-11-26 22:02:05', NULL, '2026-11-26 22:02:05', '', 0, '');
INSERT INTO public.wsgiauth_user VALUES (2, 'grace', 'grace', 'grace@example.org', 'grace@example.org', '$2b$04$HktwwvEhjetO6m10kiJBbu/tE8c9QLX7bj0l29BdPrD2qC7EyQInm', 0, true, false, false, '2026-11-26 22:02:05', NULL, '2026-11-26 22:02:06', '', 0, '');
INSERT INTO public.wsgiauth_user VALUES (1, 'Ada', 'ada', 'ada@example.org', 'ada@example.org', '$2b$04$HVhXZsKTieIn2w.TEd6ch.Av89Y2DxViQzZlcQDDs/b0wPY/39aNC', 0, true, true, true, '2026-11-26 22:02:05', NULL, '2026-11-26 22:02:06', '', 0, '');
SELECT pg_catalog.setval('public.wsgiauth_event_id_seq', 20, true);
SELECT pg_catalog.setval('public.wsgiauth_group_id_seq', 1, true);
SELECT pg_catalog.setval('public.wsgiauth_migration_id_seq', 1, true);
SELECT pg_catalog.setval('public.wsgiauth_user_id_seq', 4, true);
ALTER TABLE ONLY public.wsgiauth_attempt_count
    ADD CONSTRAINT wsgiauth_attempt_count_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_event
    ADD CONSTRAINT wsgiauth_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_failed_logins
    ADD CONSTRAINT wsgiauth_failed_logins_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_former_password
    ADD CONSTRAINT wsgiauth_former_password_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.wsgiauth_group_permission
    ADD CONSTRAINT wsgiauth_group_permission_pkey PRIMARY KEY (group_id, name);
ALTER TABLE ONLY public.wsgiauth_group
    ADD CONSTRAINT wsgiauth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_identity
    ADD CONSTRAINT wsgiauth_identity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_key
    ADD CONSTRAINT wsgiauth_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_mail
    ADD CONSTRAINT wsgiauth_mail_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_membership
    ADD CONSTRAINT wsgiauth_membership_pkey PRIMARY KEY (group_id, user_id);
ALTER TABLE ONLY public.wsgiauth_migration
    ADD CONSTRAINT wsgiauth_migration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_one_time
    ADD CONSTRAINT wsgiauth_one_time_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_passkey
    ADD CONSTRAINT wsgiauth_passkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_permission
    ADD CONSTRAINT wsgiauth_permission_pkey PRIMARY KEY (user_id, name);
ALTER TABLE ONLY public.wsgiauth_provider_session
    ADD CONSTRAINT wsgiauth_provider_session_pkey PRIMARY KEY (session_id, identity_id, sid);
ALTER TABLE ONLY public.wsgiauth_session
    ADD CONSTRAINT wsgiauth_session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_totp
    ADD CONSTRAINT wsgiauth_totp_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_trusted_browser
    ADD CONSTRAINT wsgiauth_trusted_browser_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.wsgiauth_user
    ADD CONSTRAINT wsgiauth_user_pkey PRIMARY KEY (id);
CREATE INDEX wsgiauth_attempt_count_expires_at ON public.wsgiauth_attempt_count USING btree (expires_at);
CREATE INDEX wsgiauth_event_actor_time_id ON public.wsgiauth_event USING btree (actor, "time", id);
CREATE INDEX wsgiauth_event_name_time_id ON public.wsgiauth_event USING btree (name, "time", id);
CREATE INDEX wsgiauth_event_time_id ON public.wsgiauth_event USING btree ("time", id);
CREATE INDEX wsgiauth_event_user_id_time_id ON public.wsgiauth_event USING btree (user_id, "time", id);
CREATE INDEX wsgiauth_failed_logins_expires_at ON public.wsgiauth_failed_logins USING btree (expires_at);
CREATE UNIQUE INDEX wsgiauth_group_name_key ON public.wsgiauth_group USING btree (name_key);
CREATE INDEX wsgiauth_identity_user_id ON public.wsgiauth_identity USING btree (user_id);
CREATE INDEX wsgiauth_key_expires_at ON public.wsgiauth_key USING btree (expires_at);
CREATE INDEX wsgiauth_key_user_id ON public.wsgiauth_key USING btree (user_id);
CREATE INDEX wsgiauth_mail_due_at ON public.wsgiauth_mail USING btree (due_at);
CREATE INDEX wsgiauth_mail_kind_due_at ON public.wsgiauth_mail USING btree (kind, due_at);
CREATE INDEX wsgiauth_mail_user_id ON public.wsgiauth_mail USING btree (user_id);
CREATE INDEX wsgiauth_membership_user_id_group_id ON public.wsgiauth_membership USING btree (user_id, group_id);
CREATE UNIQUE INDEX wsgiauth_migration_name ON public.wsgiauth_migration USING btree (name);
CREATE INDEX wsgiauth_one_time_expires_at ON public.wsgiauth_one_time USING btree (expires_at);
CREATE INDEX wsgiauth_one_time_subject ON public.wsgiauth_one_time USING btree (subject);
CREATE INDEX wsgiauth_one_time_user_id ON public.wsgiauth_one_time USING btree (user_id);
CREATE INDEX wsgiauth_passkey_user_id ON public.wsgiauth_passkey USING btree (user_id);
CREATE INDEX wsgiauth_permission_user_id ON public.wsgiauth_permission USING btree (user_id);
CREATE INDEX wsgiauth_provider_session_identity_id ON public.wsgiauth_provider_session USING btree (identity_id);
CREATE INDEX wsgiauth_provider_session_sid ON public.wsgiauth_provider_session USING btree (sid);
CREATE INDEX wsgiauth_session_expires_at ON public.wsgiauth_session USING btree (expires_at);
CREATE INDEX wsgiauth_session_user_id ON public.wsgiauth_session USING btree (user_id);
CREATE INDEX wsgiauth_totp_user_id ON public.wsgiauth_totp USING btree (user_id);
CREATE UNIQUE INDEX wsgiauth_trusted_browser_digest ON public.wsgiauth_trusted_browser USING btree (digest);
CREATE INDEX wsgiauth_trusted_browser_expires_at ON public.wsgiauth_trusted_browser USING btree (expires_at);
CREATE INDEX wsgiauth_trusted_browser_user_id ON public.wsgiauth_trusted_browser USING btree (user_id);
CREATE INDEX wsgiauth_user_email_domain ON public.wsgiauth_user USING btree (split_part((email_key)::text, '@'::text, 2), id);
CREATE UNIQUE INDEX wsgiauth_user_email_key ON public.wsgiauth_user USING btree (email_key);
CREATE INDEX wsgiauth_user_email_verified_at_id ON public.wsgiauth_user USING btree (email_verified_at, id);
CREATE INDEX wsgiauth_user_is_active_id ON public.wsgiauth_user USING btree (is_active, id);
CREATE INDEX wsgiauth_user_is_staff_id ON public.wsgiauth_user USING btree (is_staff, id);
CREATE INDEX wsgiauth_user_is_superuser_id ON public.wsgiauth_user USING btree (is_superuser, id);
CREATE INDEX wsgiauth_user_last_login_at_id ON public.wsgiauth_user USING btree (last_login_at, id);
CREATE UNIQUE INDEX wsgiauth_user_username_key ON public.wsgiauth_user USING btree (username_key);
ALTER TABLE ONLY public.wsgiauth_former_password
    ADD CONSTRAINT wsgiauth_former_password_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_group_permission
    ADD CONSTRAINT wsgiauth_group_permission_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.wsgiauth_group(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_identity
    ADD CONSTRAINT wsgiauth_identity_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_key
    ADD CONSTRAINT wsgiauth_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_mail
    ADD CONSTRAINT wsgiauth_mail_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_membership
    ADD CONSTRAINT wsgiauth_membership_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.wsgiauth_group(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_membership
    ADD CONSTRAINT wsgiauth_membership_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_one_time
    ADD CONSTRAINT wsgiauth_one_time_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_passkey
    ADD CONSTRAINT wsgiauth_passkey_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_permission
    ADD CONSTRAINT wsgiauth_permission_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_provider_session
    ADD CONSTRAINT wsgiauth_provider_session_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.wsgiauth_identity(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_provider_session
    ADD CONSTRAINT wsgiauth_provider_session_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.wsgiauth_session(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_session
    ADD CONSTRAINT wsgiauth_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_totp
    ADD CONSTRAINT wsgiauth_totp_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wsgiauth_trusted_browser
    ADD CONSTRAINT wsgiauth_trusted_browser_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.wsgiauth_user(id) ON DELETE CASCADE;

/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_attempt_count` (
  `id` varchar(64) NOT NULL,
  `retry_at` bigint(20) NOT NULL,
  `count` int(11) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_attempt_count_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_attempt_count` (`id`, `retry_at`, `count`, `expires_at`) VALUES ('144dfa34853c20596be17a102354dd230add649349c7af336b0a923e8ec40e9c',0,1,1795734129),
('18e0f9fad937c5149a5cef87be590513914d253b8e3556f1e52f47e9a9b30dc0',0,0,1798322530),
('1bcfe91f8dc283de6438c7a85c4f3b6a0c6959623d0951c9a7fb2ec93135e54c',0,0,1798322530),
('1d40c657fabbb427ebef164a93efa94e4450e82c2c178da970ae3e1f59c61415',0,1,1795730590),
('216bf9934fc3723184b37adfdd7efd3ddaaf828d13ebb95108b461f4962ee685',0,1,1795734129),
('2e68e8be3a44f65f8641464f30da5c35e0ce1cda18977cc4799ce8ff81b16187',0,0,1795734130),
('46f85bba4d825adedf0e5376a5c1a53cf66ef8da79ba03451e36a25082be826c',0,0,1795816930),
('63b99923fcf5b533ed0aa3650fe3bca0faf93d2d05021ff0c771efec15a8a064',0,0,1798322530),
('6454ee22bdfb632aa6cfd1fa42f58826b54ef24d61f2aaf8dd876ef5ebe13f85',0,1,1795734129),
('8fc16a77b7c9e3afa8a132f04d083576aa2d2378cbdcedc960de4a2c6bd3465a',0,0,1795816929),
('938beaa5984c4be90ff7cbe81203a184d858803ec9e4f1c1481d68ffe5bc6783',0,0,1798322530),
('9a4aad6327ac1800b12418f15d1cb047ee93a00eddfdd65545ef7efceddfb064',0,1,1795734129),
('b780d740f957c37018eeb0b788ecd5a145d348bf9d04211441c016f0a3a53040',0,1,1795734129),
('bb06b16337d2ad2ec44f5a4d5ca0eb94b68f4f825baf4cf148ea0707114360d4',0,2,1795734129),
('c1646a50d382511b2a6e943a6e008c144067d428fcfcca6721baa2267c99e72f',0,0,1798322530),
('dbf1fa4c8bfc669850ba96a31b6a75fc862a4d59ccc92c4635f14f19d9c4aae4',0,0,1798322530),
('e7e9346659fee3b2b7658e65d769e67e1ae9238d60032f33a00b999c02ae1f58',0,0,1798322530),
('fe2a10c5a417c2c5188d767f78bb225b351d4b4c0a82d1a3a846373ae6f2bfb1',0,0,1795816930);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_event` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `time` bigint(20) NOT NULL,
  `name` varchar(32) NOT NULL,
  `user_id` bigint(20) DEFAULT NULL,
  `actor` varchar(32) NOT NULL,
  `system_user` varchar(64) DEFAULT NULL,
  `address` varchar(64) DEFAULT NULL,
  `reason` text DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_event_time_id` (`time`,`id`),
  KEY `wsgiauth_event_user_id_time_id` (`user_id`,`time`,`id`),
  KEY `wsgiauth_event_actor_time_id` (`actor`,`time`,`id`),
  KEY `wsgiauth_event_name_time_id` (`name`,`time`,`id`)
) ENGINE=InnoDB AUTO_INCREMENT=21 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_event` (`id`, `time`, `name`, `user_id`, `actor`, `system_user`, `address`, `reason`) VALUES (1,1795730529,'registration',1,'user 1',NULL,NULL,NULL),
(2,1795730529,'rights_changed',1,'code',NULL,NULL,'is_staff on'),
(3,1795730529,'rights_changed',1,'code',NULL,NULL,'is_superuser on'),
(4,1795730529,'rights_changed',1,'code',NULL,NULL,'granted reports.read'),
(5,1795730529,'key_created',1,'code',NULL,NULL,'QX4wtsxJLgDG'),
(6,1795730529,'group_changed',NULL,'code',NULL,NULL,'created Editors'),
(7,1795730529,'group_changed',NULL,'code',NULL,NULL,'granted pages.edit to Editors'),
(8,1795730529,'registration',2,'code',NULL,NULL,NULL),
(9,1795730530,'rights_changed',2,'code',NULL,NULL,'joined Editors'),
(10,1795730530,'registration',3,'code',NULL,NULL,NULL),
(11,1795730530,'registration',4,'code',NULL,NULL,NULL),
(12,1795730530,'identity_connected',4,'code',NULL,NULL,'example'),
(13,1795730530,'login',4,'code',NULL,NULL,'fed'),
(14,1795730530,'factor_added',2,'code',NULL,NULL,'otp'),
(15,1795730530,'factor_added',2,'code',NULL,NULL,'recovery codes'),
(16,1795730530,'factor_added',2,'code',NULL,NULL,'passkey'),
(17,1795730530,'login',2,'user 2',NULL,NULL,'pwd otp'),
(18,1795730530,'trust_given',2,'user 2',NULL,NULL,NULL),
(19,1795730530,'logout',2,'user 2',NULL,NULL,NULL),
(20,1795730530,'login',1,'user 1',NULL,NULL,'pwd');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_failed_logins` (
  `id` varchar(64) NOT NULL,
  `lines` varchar(1000) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_failed_logins_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_failed_logins` (`id`, `lines`, `expires_at`) VALUES ('52d786b32905d8ed4785493941b176eb06af6370c7e0672346cd180b46731a36','1795730529	wrong password	\n',1795820400);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_former_password` (
  `user_id` bigint(20) NOT NULL,
  `scheme` varchar(32) NOT NULL,
  `parameters` varchar(64) NOT NULL,
  `salt` varchar(255) NOT NULL,
  `hash_start` varchar(29) NOT NULL,
  PRIMARY KEY (`user_id`),
  CONSTRAINT `wsgiauth_former_password_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_former_password` (`user_id`, `scheme`, `parameters`, `salt`, `hash_start`) VALUES (3,'scrypt','n=16,r=8,p=1,l=64','c2FsdA==','$2b$04$rYEbj3wIFd5JoQlAaMjCj.');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_group` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `name` varchar(150) NOT NULL,
  `name_key` varchar(150) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `wsgiauth_group_name_key` (`name_key`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_group` (`id`, `name`, `name_key`) VALUES (1,'Editors','editors');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_group_permission` (
  `group_id` bigint(20) NOT NULL,
  `name` varchar(100) NOT NULL,
  PRIMARY KEY (`group_id`,`name`),
  CONSTRAINT `wsgiauth_group_permission_ibfk_1` FOREIGN KEY (`group_id`) REFERENCES `wsgiauth_group` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_group_permission` (`group_id`, `name`) VALUES (1,'pages.edit');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_identity` (
  `id` varchar(64) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `provider` varchar(32) NOT NULL,
  `issuer` varchar(255) NOT NULL,
  `subject` varchar(255) NOT NULL,
  `name` varchar(100) NOT NULL,
  `joined` text NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_identity_user_id` (`user_id`),
  CONSTRAINT `wsgiauth_identity_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_identity` (`id`, `user_id`, `provider`, `issuer`, `subject`, `name`, `joined`, `created_at`, `last_used_at`) VALUES ('c796ad335b9951382cb7d13aa25eb23f71bf7c3f9d2dd112e5bdb6d79b10e1b2',4,'example','https://accounts.example.com','s-1','s-1','[]',1795730530,1795730530);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_key` (
  `id` varchar(12) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `name` varchar(100) NOT NULL,
  `digest` varchar(64) NOT NULL,
  `permissions` text NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_key_user_id` (`user_id`),
  KEY `wsgiauth_key_expires_at` (`expires_at`),
  CONSTRAINT `wsgiauth_key_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_key` (`id`, `user_id`, `name`, `digest`, `permissions`, `created_at`, `expires_at`, `last_used_at`) VALUES ('QX4wtsxJLgDG',1,'test','7f62cfee6f865bb482e571db0647b94bbe6623883eeec7f1f5866d4dbd3df006','reports.read',1795730529,1803506529,NULL);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_mail` (
  `id` varchar(32) NOT NULL,
  `kind` varchar(32) NOT NULL,
  `name` varchar(254) NOT NULL,
  `user_id` bigint(20) DEFAULT NULL,
  `data` text NOT NULL,
  `due_at` bigint(20) NOT NULL,
  `attempts` int(11) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `language` varchar(35) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `wsgiauth_mail_user_id` (`user_id`),
  KEY `wsgiauth_mail_due_at` (`due_at`),
  KEY `wsgiauth_mail_kind_due_at` (`kind`,`due_at`),
  CONSTRAINT `wsgiauth_mail_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_mail` (`id`, `kind`, `name`, `user_id`, `data`, `due_at`, `attempts`, `expires_at`, `language`) VALUES ('57c0c7573fa54383dbf1b19f541d5ece','address','ada@example.org',1,'{\"mount\": \"/auth\", \"stamp\": 0, \"present\": \"cfe00dde46ef942601ffafb9e2825e802858b460e586b8305b344c1eb826357d\"}',1795730529,0,1795816929,''),
('99dbd2d3269c61f9cba37464572ff5ad','notice factor_added','',NULL,'{\"user_id\": 2, \"time\": \"26 November 2026 at 22:02 UTC\", \"at\": 1795730530, \"address\": \"\", \"browser\": \"Unknown browser\", \"reason\": \"recovery codes\", \"provider\": \"\", \"mount\": \"/auth\", \"username\": \"\", \"email\": \"grace@example.org\", \"factor\": \"\"}',1795730530,0,1795816930,''),
('a2dd2f8303ad3b4d2cdb765d5b2acd1a','notice factor_added','',NULL,'{\"user_id\": 2, \"time\": \"26 November 2026 at 22:02 UTC\", \"at\": 1795730530, \"address\": \"\", \"browser\": \"Unknown browser\", \"reason\": \"otp\", \"provider\": \"\", \"mount\": \"/auth\", \"username\": \"\", \"email\": \"grace@example.org\", \"factor\": \"\"}',1795730530,0,1795816930,''),
('ad66221701c563a1178b80b0bd6e30ce','notice factor_added','',NULL,'{\"user_id\": 2, \"time\": \"26 November 2026 at 22:02 UTC\", \"at\": 1795730530, \"address\": \"\", \"browser\": \"Unknown browser\", \"reason\": \"passkey\", \"provider\": \"\", \"mount\": \"/auth\", \"username\": \"\", \"email\": \"grace@example.org\", \"factor\": \"\"}',1795730530,0,1795816930,''),
('c4e4e17b5f04857a3932d9cfb489b7ae','notice trust_given','',NULL,'{\"user_id\": 2, \"time\": \"26 November 2026 at 22:02 UTC\", \"at\": 1795730530, \"address\": \"\", \"browser\": \"Unknown browser\", \"reason\": \"\", \"provider\": \"\", \"mount\": \"/auth\", \"username\": \"\", \"email\": \"grace@example.org\", \"factor\": \"\"}',1795730530,0,1795816930,''),
('d114a38929cbe4bf71f52ec4f36c5a28','reset','Ada',NULL,'{\"mount\": \"/auth\"}',1795730529,0,1795816929,''),
('fef8aace4c11f789d8f08f904906c1e4','notice key_created','',NULL,'{\"user_id\": 1, \"time\": \"26 November 2026 at 22:02 UTC\", \"at\": 1795730529, \"address\": \"\", \"browser\": \"Unknown browser\", \"reason\": \"QX4wtsxJLgDG\", \"provider\": \"\", \"mount\": \"/auth\", \"username\": \"\", \"email\": \"ada@example.org\", \"factor\": \"\"}',1795730529,0,1795816929,'');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_membership` (
  `group_id` bigint(20) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  PRIMARY KEY (`group_id`,`user_id`),
  KEY `wsgiauth_membership_user_id_group_id` (`user_id`,`group_id`),
  CONSTRAINT `wsgiauth_membership_ibfk_1` FOREIGN KEY (`group_id`) REFERENCES `wsgiauth_group` (`id`) ON DELETE CASCADE,
  CONSTRAINT `wsgiauth_membership_ibfk_2` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_membership` (`group_id`, `user_id`) VALUES (1,2);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_migration` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(255) NOT NULL,
  `applied` datetime NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `wsgiauth_migration_name` (`name`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_migration` (`id`, `name`, `applied`) VALUES (1,'0001_schema','2026-11-26 22:02:09');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_one_time` (
  `id` varchar(64) NOT NULL,
  `purpose` varchar(32) NOT NULL,
  `user_id` bigint(20) DEFAULT NULL,
  `stamp` int(11) NOT NULL,
  `subject` varchar(64) DEFAULT NULL,
  `data` text NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_one_time_user_id` (`user_id`),
  KEY `wsgiauth_one_time_subject` (`subject`),
  KEY `wsgiauth_one_time_expires_at` (`expires_at`),
  CONSTRAINT `wsgiauth_one_time_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_one_time` (`id`, `purpose`, `user_id`, `stamp`, `subject`, `data`, `expires_at`) VALUES ('10661cb5f165de2c89ca5dd26b9aa75241b9bf144220471508a647a7814f1547','used challenge',NULL,0,NULL,'',1795731190),
('1e94f85e618a7fe0107d00b510a6877f9e0b1ebab49b997cf2f82b013b601034','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('2d68ad8d1cf41d3cd0846e41fc5566b421303ee22bd6af05508dc948e3d3b03f','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('6baf899d22cbd78a2b7b5d7c280bbceeab7ebc3c20d8c55bbc282ded4c08cd33','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('773f2528ef3e3bc1c3e2477b8d87b4749c15b194825250e3de5921a4c1d0349d','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('92f4fb3f24db689a4530df51b5d611073807ff200acbdea3caee47cf00e7e79d','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('a6bdeca61e65abb6f15889372bec72779bd60d58a53221834676a344554815de','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('ad0d133ad610a4fce17429993d91dcf7881016d4459b771e1dc943728065ebef','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('b6c470af37e2e5e96c08b0e2c733085cb3118702016af8e2df354fb6c6ebfa15','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('c2c9e784e1931463af618a96ee96c32b0e47bb5bb3ae1cb76406eb965e2e4060','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904),
('f1615ae540b876f57d9c0e0b57ee8fa7d4835695d001a9c237b22ec8d15ca346','recovery',2,0,NULL,'2634ce3595235dac',4611686018427387904);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_passkey` (
  `id` varchar(64) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `name` varchar(50) NOT NULL,
  `credential_id` text NOT NULL,
  `public_key` text NOT NULL,
  `sign_count` bigint(20) NOT NULL,
  `relying_party` varchar(253) NOT NULL,
  `user_handle` varchar(86) NOT NULL,
  `transports` varchar(64) NOT NULL,
  `is_backed_up` tinyint(1) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_passkey_user_id` (`user_id`),
  CONSTRAINT `wsgiauth_passkey_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_passkey` (`id`, `user_id`, `name`, `credential_id`, `public_key`, `sign_count`, `relying_party`, `user_handle`, `transports`, `is_backed_up`, `created_at`, `last_used_at`) VALUES ('d903bbe77b44fffc02f05c0ba7842b0af9c3beaa1ae8188a325edaf66aa4489d',2,'Laptop','N82DJE0hgrVNm0opr_aV0zdBFw8zCL7wvl0rVzLeIck','pQECAyYgASFYILonR9LFwEzeIMfAPa77-6e22JR3qm0bEZdS9yGYR-gMIlgg5YWzn-h_jsNCOAJsgVnuwBcF6lqA6Ma2aYGtu9023NY',0,'example.org','5XQDGRuvHZmX8j51cAj_IQtSV33IvL-Jep216yFPkpo','internal',0,1795730530,0);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_permission` (
  `user_id` bigint(20) NOT NULL,
  `name` varchar(100) NOT NULL,
  PRIMARY KEY (`user_id`,`name`),
  KEY `wsgiauth_permission_user_id` (`user_id`),
  CONSTRAINT `wsgiauth_permission_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_permission` (`user_id`, `name`) VALUES (1,'reports.read');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_provider_session` (
  `session_id` varchar(43) NOT NULL,
  `identity_id` varchar(64) NOT NULL,
  `sid` varchar(64) NOT NULL,
  `is_first` tinyint(1) NOT NULL,
  `authenticated_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`session_id`,`identity_id`,`sid`),
  KEY `wsgiauth_provider_session_identity_id` (`identity_id`),
  KEY `wsgiauth_provider_session_sid` (`sid`),
  CONSTRAINT `wsgiauth_provider_session_ibfk_1` FOREIGN KEY (`session_id`) REFERENCES `wsgiauth_session` (`id`) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT `wsgiauth_provider_session_ibfk_2` FOREIGN KEY (`identity_id`) REFERENCES `wsgiauth_identity` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_provider_session` (`session_id`, `identity_id`, `sid`, `is_first`, `authenticated_at`) VALUES ('FEnUzpCzG16eLy03-bMYzg','c796ad335b9951382cb7d13aa25eb23f71bf7c3f9d2dd112e5bdb6d79b10e1b2','',1,1795730530);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_session` (
  `id` varchar(43) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `stamp` int(11) NOT NULL,
  `created_at` datetime NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `last_seen_at` bigint(20) NOT NULL,
  `ends_at` bigint(20) NOT NULL,
  `idle` int(11) NOT NULL,
  `authenticated_at` bigint(20) NOT NULL,
  `methods` varchar(64) NOT NULL,
  `generation` int(11) NOT NULL,
  `refreshed_at` bigint(20) NOT NULL,
  `address` varchar(64) NOT NULL,
  `agent` varchar(255) NOT NULL,
  `unused` int(11) NOT NULL DEFAULT 0,
  `reissued` int(11) NOT NULL DEFAULT 0,
  `reissued_for` int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  KEY `wsgiauth_session_user_id` (`user_id`),
  KEY `wsgiauth_session_expires_at` (`expires_at`),
  CONSTRAINT `wsgiauth_session_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_session` (`id`, `user_id`, `stamp`, `created_at`, `expires_at`, `last_seen_at`, `ends_at`, `idle`, `authenticated_at`, `methods`, `generation`, `refreshed_at`, `address`, `agent`, `unused`, `reissued`, `reissued_for`) VALUES ('BTe_DCD3W68XIVE8b1IOEw',1,0,'2026-11-26 22:02:10',1795773730,1795730530,1795773730,0,1795730530,'pwd',1,1795730530,'','',0,0,0),
('FEnUzpCzG16eLy03-bMYzg',4,0,'2026-11-26 22:02:10',1795734130,1795730530,1795773730,3600,1795730530,'fed',0,1795730530,'','',0,0,0);
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_totp` (
  `id` varchar(32) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `name` varchar(50) NOT NULL,
  `salt` varchar(64) NOT NULL,
  `counter` bigint(20) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `confirmed_at` bigint(20) NOT NULL,
  `key_id` varchar(16) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `wsgiauth_totp_user_id` (`user_id`),
  CONSTRAINT `wsgiauth_totp_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_totp` (`id`, `user_id`, `name`, `salt`, `counter`, `created_at`, `confirmed_at`, `key_id`) VALUES ('e789bba720115635',2,'Phone','c257a7434ae6eb8ead7e3b7259f0514d6d4e59077f4391cb8132d5abc2354531',59857684,1795730530,1795730530,'534f3e11d396d5f9');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_trusted_browser` (
  `id` varchar(16) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `digest` varchar(64) NOT NULL,
  `stamp` int(11) NOT NULL,
  `factors` varchar(64) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) DEFAULT NULL,
  `expires_at` bigint(20) NOT NULL,
  `address` varchar(64) NOT NULL,
  `agent` varchar(255) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `wsgiauth_trusted_browser_digest` (`digest`),
  KEY `wsgiauth_trusted_browser_user_id` (`user_id`),
  KEY `wsgiauth_trusted_browser_expires_at` (`expires_at`),
  CONSTRAINT `wsgiauth_trusted_browser_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `wsgiauth_user` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_trusted_browser` (`id`, `user_id`, `digest`, `stamp`, `factors`, `created_at`, `last_used_at`, `expires_at`, `address`, `agent`) VALUES ('84776f874a1c6109',2,'58a2e0c5e4d40ba9df6dc4f6a0e2c0bcfbdaaea6588d29c72c0e3f1a7c928f9e',0,'f7a4f6f30052e2979a0c0a2eac65830114e5c62e9dfbd1fd2b15d198469bb939',1795730530,NULL,1798322530,'','');
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `wsgiauth_user` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `username` varchar(150) NOT NULL,
  `username_key` varchar(150) NOT NULL,
  `email` varchar(254) NOT NULL,
  `email_key` varchar(254) NOT NULL,
  `hashed_password` varchar(60) NOT NULL,
  `security_stamp` int(11) NOT NULL,
  `is_active` tinyint(1) NOT NULL,
  `is_staff` tinyint(1) NOT NULL,
  `is_superuser` tinyint(1) NOT NULL,
  `created_at` datetime NOT NULL,
  `email_verified_at` datetime DEFAULT NULL,
  `last_login_at` datetime DEFAULT NULL,
  `language` varchar(35) NOT NULL DEFAULT '',
  `locks` int(11) NOT NULL DEFAULT 0,
  `email_verified_by` varchar(255) NOT NULL DEFAULT '',
  `email_domain` varchar(254) GENERATED ALWAYS AS (substring_index(`email_key`,'@',-1)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `wsgiauth_user_username_key` (`username_key`),
  UNIQUE KEY `wsgiauth_user_email_key` (`email_key`),
  KEY `wsgiauth_user_is_active_id` (`is_active`,`id`),
  KEY `wsgiauth_user_is_staff_id` (`is_staff`,`id`),
  KEY `wsgiauth_user_is_superuser_id` (`is_superuser`,`id`),
  KEY `wsgiauth_user_email_verified_at_id` (`email_verified_at`,`id`),
  KEY `wsgiauth_user_last_login_at_id` (`last_login_at`,`id`),
  KEY `wsgiauth_user_email_domain` (`email_domain`,`id`)
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
INSERT INTO `wsgiauth_user` (`id`, `username`, `username_key`, `email`, `email_key`, `hashed_password`, `security_stamp`, `is_active`, `is_staff`, `is_superuser`, `created_at`, `email_verified_at`, `last_login_at`, `language`, `locks`, `email_verified_by`, `email_domain`) VALUES (1,'Ada','ada','ada@example.org','ada@example.org','$2b$04$wB9hwKJHR.j2ejGIDMqx3u.VG4HB8sPhRrXba4Ph8F3gBn7/8z9b.',0,1,1,1,'2026-11-26 22:02:09',NULL,'2026-11-26 22:02:10','',2,'','example.org'),
(2,'grace','grace','grace@example.org','grace@example.org','$2b$04$VBP9DeHk/vBKjMLsHP50l.iIUE3z8yHuETHh7GMsMRlr4ZiT63oqq',0,1,0,0,'2026-11-26 22:02:09',NULL,'2026-11-26 22:02:10','',7,'','example.org'),
(3,'wanda','wanda','wanda@example.org','wanda@example.org','$2b$04$rYEbj3wIFd5JoQlAaMjCj.X9E8WEK8WLSa757ZTMBU0adhiuMrc3q',0,1,0,0,'2026-11-26 22:02:10',NULL,NULL,'',1,'','example.org'),
(4,'norma','norma','norma@example.org','norma@example.org','',0,1,0,0,'2026-11-26 22:02:10',NULL,'2026-11-26 22:02:10','',2,'','example.org');
